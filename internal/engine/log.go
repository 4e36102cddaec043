package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
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
	all := shiftsBetween(l.told, after)
	if len(all) == 0 {
		return
	}
	if _, due := l.moved.Due(time.Now()); due {
		l.told = after
		slots, text := describe(all)
		c.journal.Note(slog.LevelInfo, "slots moved", "slots", slots, "shifts", text)
	}
}

// A shift is where slots have gone.
type shift struct{ from, to string }

// nobody has the slots that have no owner.
const nobody = "nobody"

func shiftsBetween(before, after *topology) map[shift]int {
	all := make(map[shift]int)
	if before.owner == after.owner && slices.Equal(before.nodes, after.nodes) {
		return all
	}
	from, to, s := uint16(noOwner), uint16(noOwner), shift{nobody, nobody}
	for slot := range int32(SlotCount) {
		if i, j := before.owner[slot], after.owner[slot]; i != from || j != to { // most slots are as the one before
			from, to, s = i, j, shift{before.ownerOf(slot), after.ownerOf(slot)}
		}
		if s.from != s.to {
			all[s]++
		}
	}
	return all
}

func (t *topology) ownerOf(slot int32) string {
	if n := t.primary(slot); n != nil {
		return n.addr
	}
	return nobody
}

// maxShifts bounds the shifts of one line.
const maxShifts = 8

// describe returns how many slots have moved, and from where to where, the largest
// shifts first.
func describe(all map[shift]int) (slots int, text string) {
	sorted := slices.SortedFunc(maps.Keys(all), func(a, b shift) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), strings.Compare(a.from, b.from), strings.Compare(a.to, b.to))
	})
	var parts []string
	named := 0
	for i, s := range sorted {
		slots += all[s]
		if i < maxShifts {
			named += all[s]
			parts = append(parts, fmt.Sprintf("%d from %s to %s", all[s], s.from, s.to))
		}
	}
	if slots > named {
		parts = append(parts, fmt.Sprintf("%d otherwise", slots-named))
	}
	return slots, strings.Join(parts, ", ")
}
