package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
)

// A refreshLog is what the log is told of refreshes, which run one at a time.
type refreshLog struct {
	failing time.Time // since when; zero: the last one has succeeded
	failed  guard.Throttle
	moved   guard.Throttle
	told    *topology // the last map that it was told of
	shown   *topology // the last map that the trace was told of
}

// noteRefreshed tells of refreshes that fail, and of the first one that succeeds again.
func (c *Client) noteRefreshed(err error) {
	l, now := &c.refreshLog, time.Now()
	switch {
	case err == nil && !l.failing.IsZero():
		c.journal.Note(slog.LevelInfo, "refresh succeeded again", "after", now.Sub(l.failing))
		l.failing = time.Time{}
		l.failed.Over()
	case err == nil || c.ctx.Err() != nil:
	default:
		if l.failing.IsZero() {
			l.failing = now
		}
		if n, due := l.failed.Due(now); due {
			c.journal.Note(slog.LevelWarn, "refresh failed", "failures", n, "error", err)
		}
		c.journal.Panicked(err)
	}
}

// noteMoved tells of slots that have other owners than by the map that it told of last.
// While slots move all the time, that is one line in five seconds at most.
func (c *Client) noteMoved() {
	l, after := &c.refreshLog, c.topology.Load()
	if l.told == nil {
		l.told = after // the first map
		return
	}
	change := slots.Diff(l.told, after)
	if change.Moved == 0 {
		return
	}
	if _, due := l.moved.Due(time.Now()); due {
		l.told = after
		c.journal.Note(slog.LevelInfo, "slots moved", "slots", change.Moved, "shifts", describe(change))
	}
}

// describe says from where to where slots have moved, the largest shifts first.
func describe(change slots.Change) string {
	var parts []string
	rest := change.Moved
	for _, s := range change.Shifts[:min(len(change.Shifts), maxShifts)] {
		rest -= s.Slots
		parts = append(parts, fmt.Sprintf("%d from %s to %s", s.Slots, cmp.Or(s.From, "nobody"), cmp.Or(s.To, "nobody")))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d otherwise", rest))
	}
	return strings.Join(parts, ", ")
}

// logSkips tells the log of rows that are skipped, once of each node and reason. Refreshes
// run one at a time.
func (c *Client) logSkips(by string, skips []slots.Skip) {
	for _, s := range skips {
		what := slots.Skip{Node: s.Node, Reason: s.Reason}
		if c.skipped[what] || len(c.skipped) >= maxTold {
			continue
		}
		c.skipped[what] = true
		c.journal.Note(slog.LevelWarn, "a node is left out of the map of the slots", "node", s.Node, "reason", s.Reason, "told_by", by)
	}
}
