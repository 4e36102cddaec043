package engine

import (
	"time"

	"github.com/redislanes/redislanes/internal/slots"
)

// Gaps are the slots that maps of the slots lacked, by when they were lost: all
// that were lost at once are in trouble since then, and the loss of others later
// does not make their trouble begin anew. It is for a whole shard that commands
// wait, not for their slots.
type gaps struct {
	of     [slots.Count]uint8 // which loss; 0: the slot is not lost
	losses [mostLosses + 1]loss
	open   int
	last   *topology // the last map that was looked at
}

// A loss is the trouble of slots that were lost at once.
type loss struct {
	since, heard time.Time
	born         uint64 // see troubles.begun; 0: it has ended
}

// mostLosses bounds what is remembered: of one more, the slots join the last.
const mostLosses = 100

// note returns since when the slot, or any if it is noKey, has been lost. It looks
// at each map once, and at those of which the slot is lost meanwhile.
func (g *gaps) note(m *topology, slot int32, begin func() uint64, now time.Time) time.Time {
	slot = max(slot, 0) // nothing is served, if a command without a key has no node
	if g.last != m {
		g.last = m
		g.add(m, begin, now)
	}
	n := g.of[slot]
	if n == 0 {
		return now // served again by a newer map than the command's
	}
	g.losses[n].heard = now
	return g.losses[n].since
}

// add adds the slots that the map lacks and that are not lost yet.
func (g *gaps) add(m *topology, begin func() uint64, now time.Time) {
	n := uint8(0)
	for slot, owner := range m.Owner {
		if owner != slots.NoOwner || g.of[slot] != 0 {
			continue
		}
		if n == 0 {
			n = g.free()
			if g.losses[n].born == 0 {
				g.losses[n] = loss{since: now, heard: now, born: begin()}
				g.open++
			}
		}
		g.of[slot] = n
	}
}

// free returns the number of a loss that has ended, or else the last one.
func (g *gaps) free() uint8 {
	for n := uint8(1); n < mostLosses; n++ {
		if g.losses[n].born == 0 {
			return n
		}
	}
	return mostLosses
}

// ran says that a command for the slot has run that was sent at the time: all that
// was lost with it is back.
func (g *gaps) ran(slot int32, sent uint64) {
	if n := g.of[slot]; n != 0 && g.losses[n].born <= sent {
		g.end(n)
	}
}

// forget ends those that nobody has met since.
func (g *gaps) forget(since time.Time) {
	for n := range g.losses {
		if g.losses[n].born != 0 && g.losses[n].heard.Before(since) {
			g.end(uint8(n))
		}
	}
}

func (g *gaps) end(n uint8) {
	g.losses[n], g.last = loss{}, nil
	g.open--
	for slot, of := range g.of {
		if of == n {
			g.of[slot] = 0
		}
	}
}
