package engine

import (
	"log/slog"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
)

// The log is told only of outages that last: a slot that moves refuses commands for a
// moment, and may be one of thousands. There is a line when an outage of a node has
// lasted for a second, and one when it is over.

const (
	isOver      = "outage over"
	isForgotten = "outage not met any more"

	willBe = "are retried within RetryWindow, then fail at once"
)

// episodes are what the log is told of outages.
type episodes struct {
	log   *guard.Journal
	nodes map[string]*episode // by address
}

// An episode is a time in which there is an outage somewhere.
type episode struct {
	open int       // outages that have not ended
	told time.Time // since when, by what the log was told; zero: it was told nothing
}

func (e *episodes) began(t *outage) {
	of := e.nodes[t.addr]
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
	of := e.nodes[t.addr]
	if of == nil || !of.isNews(t.Since, now) {
		return
	}
	if code == "" {
		code = "not sent"
	}
	e.log.Note(slog.LevelWarn, "outage", "where", t.String(), "for", now.Sub(t.Since), "commands", code, "requests", willBe)
}

// isNews reports whether an outage since then is worth a line: one in each episode.
func (of *episode) isNews(since, now time.Time) bool {
	if !of.told.IsZero() || now.Sub(since) < lasting {
		return false
	}
	of.told = since
	return true
}

// ended is told of each outage that ends, and how.
func (e *episodes) ended(t *outage, how string) {
	of := e.nodes[t.addr]
	if of == nil {
		return
	}
	if of.open--; of.open > 0 {
		return
	}
	e.end(of, t.String(), how)
	delete(e.nodes, t.addr)
}

func (e *episodes) end(of *episode, where, how string) {
	if !of.told.IsZero() {
		e.log.Note(slog.LevelInfo, how, "where", where, "after", time.Since(of.told))
	}
	*of = episode{}
}
