package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/bench/rawfile"
)

// A line is one of these kinds, which have a field each.
type line struct {
	Start *start     `json:"start,omitempty"` // the first line
	Limit *float64   `json:"limit,omitempty"` // redis-benchmark's commands a second
	Turn  *turn      `json:"turn,omitempty"`
	Cut   *cutTurn   `json:"cut,omitempty"`
	Parts *partTurn  `json:"parts,omitempty"`
	Lease *leaseTurn `json:"row,omitempty"`
	End   *time.Time `json:"end,omitempty"` // the last line
}

// A start is where, with what and how it is measured.
type start struct {
	rawfile.Start
	Redis     string            `json:"redis"`
	Clients   map[string]string `json:"clients"` // versions of others' libraries
	TLS       bool              `json:"tls"`
	Primaries int               `json:"primaries"`
	Replicas  int               `json:"replicas"`
	RoundTrip time.Duration     `json:"round_trip,omitempty"` // of the network before the servers
	During    time.Duration     `json:"during"`
	Rounds    int               `json:"rounds"`
}

func (p *peers) newStart() start {
	return start{
		Start: rawfile.NewStart(), Redis: serverVersion(), Clients: versions(), TLS: p.overTLS,
		Primaries: p.primaries, Replicas: p.replicas, RoundTrip: p.roundTrip, During: p.during, Rounds: p.rounds,
	}
}

// measured are the modules of other clients.
var measured = []string{
	"github.com/redis/rueidis", "github.com/redis/go-redis/v9", "github.com/mediocregopher/radix/v4", "github.com/go-redis/redis_rate/v10",
}

// versions returns those of other clients by their modules.
func versions() map[string]string {
	all := make(map[string]string)
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return all
	}
	for _, module := range info.Deps {
		if slices.Contains(measured, module.Path) {
			all[module.Path] = module.Version
		}
	}
	return all
}

// String is a line of a report.
func (s start) String() string {
	parts := []string{rawfile.Source(s.Machine)}
	if s.Primaries > 0 { // older files of leases do not say
		over := "TCP"
		switch {
		case s.TLS:
			over = "TLS"
		case s.RoundTrip > 0:
			over += fmt.Sprint(" with a round trip of ", s.RoundTrip)
		}
		parts = append(parts, s.Redis, fmt.Sprintf("%d primaries with %d replicas each, over %s", s.Primaries, s.Replicas, over))
	}
	parts = append(parts, fmt.Sprintf("%d rounds of %v", max(1, s.Rounds), s.During))
	var versions []string
	for _, name := range measured {
		if v := s.Clients[name]; v != "" {
			short := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "/v4"), "/v9"), "/v10")
			versions = append(versions, short[strings.LastIndexByte(short, '/')+1:]+" "+v)
		}
	}
	if len(versions) > 0 {
		parts = append(parts, strings.Join(versions, " "))
	}
	return strings.Join(parts, "; ")
}

// readRaw adds what the files hold to one record.
func readRaw(names []string) (*record, error) {
	r := newRecord()
	for _, name := range names {
		if err := rawfile.Read(name, r.read); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// read adds a line of a file.
func (r *record) read(l line) error {
	switch {
	case l.Start != nil:
		r.starts = append(r.starts, *l.Start)
	case l.Limit != nil:
		r.most[r.starts[len(r.starts)-1].TLS] = *l.Limit
	case l.Turn != nil && (l.Turn.Requests < 1 || l.Turn.Took <= 0 || l.Turn.Keys < 1):
		return errors.New("a turn without a request, time or key")
	case l.Turn != nil:
		r.add(*l.Turn)
	case l.Cut != nil:
		r.cuts = append(r.cuts, *l.Cut)
	case l.Parts != nil && (l.Parts.Requests < 1 || l.Parts.Took <= 0):
		return errors.New("a profile without a request or time")
	case l.Parts != nil:
		r.parts = append(r.parts, *l.Parts)
	case l.Lease != nil && (l.Lease.Decisions < 1 || l.Lease.Took <= 0):
		return errors.New("a rate without a decision or time")
	case l.Lease != nil:
		r.leaseTurns = append(r.leaseTurns, *l.Lease)
	case l.End == nil:
		return errors.New("is of no kind that is known")
	}
	return nil
}
