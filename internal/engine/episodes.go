package engine

import (
	"log/slog"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
)

// The log is told only of outages that last: a slot that moves refuses commands for a
// moment, and may be one of thousands. There is a line when an outage of a node or of single
// slots has lasted for a second, and one when it is over.

const (
	isOver      = "outage over"
	isForgotten = "outage not met any more"

	willBe = "are retried within RetryWindow, then fail at once"
)

// episodes are what the log is told of outages.
type episodes struct {
	log   *guard.Journal
	nodes map[string]*episode // by address
	slots episode             // of single slots, which the cluster does not serve
	keys  episode             // of commands with several keys, some of which have moved (TRYAGAIN)
}

// An episode is a time in which there is an outage somewhere.
type episode struct {
	open int       // outages that have not ended
	told time.Time // since when, by what the log was told; zero: it was told nothing
}

// of returns the episode that an outage belongs to, nil if there is none.
func (e *episodes) of(at site) *episode {
	switch {
	case at.addr != "":
		return e.nodes[at.addr]
	case at.command != 0:
		return &e.keys
	}
	return &e.slots
}

func (e *episodes) began(t *outage) {
	of := e.of(t.site)
	if of == nil {
		if e.nodes == nil {
			e.nodes = make(map[string]*episode)
		}
		of = new(episode)
		e.nodes[t.addr] = of
	}
	of.open++
}

// met is told of each command that meets the outage: refused with the code or, if
// that is "", not sent.
func (e *episodes) met(t *outage, code string, now time.Time) {
	of := e.of(t.site)
	if of == nil || !of.isNews(t.Since, now) {
		return
	}
	if code == "" {
		code = "not sent"
	}
	e.log.Note(slog.LevelWarn, "outage", "where", t.place(), "for", now.Sub(t.Since), "commands", code, "requests", willBe)
}

// isNews reports whether an outage since then is worth a line: one in each episode.
func (of *episode) isNews(since, now time.Time) bool {
	if !of.told.IsZero() || now.Sub(since) < lasting {
		return false
	}
	of.told = since
	return true
}

// place is where the log says that the outage is.
func (t *outage) place() string {
	switch {
	case t.addr != "":
		return t.String()
	case t.command != 0:
		return "keys of slots that move"
	}
	return "slots"
}

// ended is told of each outage that ends, and how.
func (e *episodes) ended(t *outage, how string) {
	of := e.of(t.site)
	if of == nil {
		return
	}
	if of.open--; of.open > 0 {
		return
	}
	e.end(of, t.place(), how)
	delete(e.nodes, t.addr)
}

func (e *episodes) end(of *episode, where, how string) {
	if !of.told.IsZero() {
		e.log.Note(slog.LevelInfo, how, "where", where, "after", time.Since(of.told))
	}
	*of = episode{}
}
