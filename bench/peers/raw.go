package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
)

// rawFormat is the version of the lines of a raw file.
const rawFormat = 1

// A line is one of these kinds, which have a field each.
type line struct {
	Start *start     `json:"start,omitempty"` // the first line
	Limit *float64   `json:"limit,omitempty"` // redis-benchmark's commands a second
	Turn  *turn      `json:"turn,omitempty"`
	Cut   *cutTurn   `json:"cut,omitempty"`
	Parts *partTurn  `json:"parts,omitempty"`
	End   *time.Time `json:"end,omitempty"` // the last line
}

// A start is where, with what and how it is measured.
type start struct {
	Format    int               `json:"format"`
	Machine   machine.Machine   `json:"machine"`
	Redis     string            `json:"redis"`
	Clients   map[string]string `json:"clients"` // versions of others' libraries
	TLS       bool              `json:"tls"`
	Primaries int               `json:"primaries"`
	Replicas  int               `json:"replicas"`
	During    time.Duration     `json:"during"`
	Rounds    int               `json:"rounds"`
}

func (p *peers) newStart() start {
	return start{
		Format: rawFormat, Machine: machine.This(), Redis: serverVersion(), Clients: versions(), TLS: p.overTLS,
		Primaries: p.primaries, Replicas: p.replicas, During: p.during, Rounds: p.rounds,
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
		for _, name := range measured {
			if module.Path == name {
				all[name] = module.Version
			}
		}
	}
	return all
}

// String is a line of a report.
func (s start) String() string {
	over := "TCP"
	if s.TLS {
		over = "TLS"
	}
	text := fmt.Sprintf("%s, commit %s, %s/%s, %d CPUs (%s), %s; %s; %d primaries with %d replicas each, over %s; %d rounds of %v;",
		s.Machine.Date.UTC().Format(time.DateTime), s.Machine.Commit, s.Machine.OS, s.Machine.Arch, s.Machine.CPUs, s.Machine.CPU, s.Machine.Go,
		s.Redis, s.Primaries, s.Replicas, over, s.Rounds, s.During)
	for _, name := range measured {
		if v := s.Clients[name]; v != "" {
			short := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "/v4"), "/v9"), "/v10")
			text += " " + short[strings.LastIndexByte(short, '/')+1:] + " " + v
		}
	}
	return text
}

// A rawWriter writes lines. A nil one does nothing.
type rawWriter struct{ file *os.File }

// createRaw opens the file before anything is measured, so that a name which cannot
// be written to is known at once.
func createRaw(name string) (*rawWriter, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("-raw: %w", err)
	}
	return &rawWriter{file}, nil
}

func (w *rawWriter) write(l line) error {
	if w == nil {
		return nil
	}
	if err := json.NewEncoder(w.file).Encode(l); err != nil {
		return fmt.Errorf("-raw: %w", err)
	}
	return nil
}

// end writes the last line and closes the file.
func (w *rawWriter) end() error {
	if w == nil {
		return nil
	}
	now := time.Now().UTC().Truncate(time.Second)
	return errors.Join(w.write(line{End: &now}), w.file.Close())
}

// readRaw adds what the files hold to one record. A file without a last line is of a
// run that was ended, and is refused.
func readRaw(names []string) (*record, error) {
	r := newRecord()
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = r.read(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

func (r *record) read(from io.Reader) error {
	lines := json.NewDecoder(from)
	lines.DisallowUnknownFields()
	var now *start
	for n := 1; ; n++ {
		var l line
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("has no last line: the run did not end; measure again")
		}
		switch {
		case err != nil:
		case (l.Start != nil) != (now == nil):
			err = errors.New("want one line of the start, before all others")
		case l.Start != nil && l.Start.Format != rawFormat:
			err = fmt.Errorf("has format %d: want %d", l.Start.Format, rawFormat)
		case l.Start != nil:
			now = l.Start
			r.starts = append(r.starts, *now)
		case l.Limit != nil:
			r.most[now.TLS] = *l.Limit
		case l.Turn != nil && (l.Turn.Requests < 1 || l.Turn.Took <= 0 || l.Turn.Keys < 1):
			err = errors.New("a turn without a request, time or key")
		case l.Turn != nil:
			r.add(*l.Turn)
		case l.Cut != nil:
			r.cuts = append(r.cuts, *l.Cut)
		case l.Parts != nil && (l.Parts.Requests < 1 || l.Parts.Took <= 0):
			err = errors.New("a profile without a request or time")
		case l.Parts != nil:
			r.parts = append(r.parts, *l.Parts)
		case l.End != nil:
			return nil
		default:
			err = errors.New("is of no kind that is known")
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}
