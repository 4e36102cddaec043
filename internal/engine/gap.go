package engine

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/slots"
)

// A gap is an outage of slots that have had no owner in any map since the same time. Slots that
// are lost later are another gap, and do not change when this one began.
type gap struct {
	outage
	slots [slots.Count / 64]uint64 // a set
}

func (g *gap) has(slot int32) bool { return g.slots[slot/64]&(1<<(slot%64)) != 0 }

// noteGap is note for a slot that has no owner in the map m. Slot 0 stands for a command
// without a key: nothing is served if that has no node.
func (t *outages) noteGap(m *topology, slot int32, now time.Time) outage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetLocked(now)
	if t.lacking != m {
		t.lacking = m
		t.addGapLocked(m, now)
	}
	since := now // unless a newer map than the command's has the slot
	if g := t.gapLocked(max(slot, 0)); g != nil {
		g.heard, since = now, g.Since
	}
	if t.countLocked(); len(t.gaps) > 0 {
		t.episodes.gap(m, since, now)
	}
	return outage{site: site{slot: slot}, Outage: attempt.Outage{Since: since}, heard: now, unsent: true}
}

// gapLocked returns the gap that the slot is in; nil: none.
func (t *outages) gapLocked(slot int32) *gap {
	for _, g := range t.gaps {
		if g.has(slot) {
			return g
		}
	}
	return nil
}

// addGapLocked adds the slots that the map lacks and that are in no gap.
func (t *outages) addGapLocked(m *topology, now time.Time) {
	var added *gap
	for slot, owner := range m.Owner {
		if owner != slots.NoOwner || t.gapLocked(int32(slot)) != nil {
			continue
		}
		if added == nil {
			if len(t.gaps) < mostGaps {
				t.gaps = append(t.gaps, &gap{outage: outage{Outage: attempt.Outage{Since: now}, heard: now, met: t.events.Add(1)}})
			}
			added = t.gaps[len(t.gaps)-1]
		}
		added.slots[slot/64] |= 1 << (slot % 64)
	}
}

// endGapsLocked ends gaps, which isOver or isForgotten. The next map is looked at again.
func (t *outages) endGapsLocked(how string, ended func(*gap) bool) {
	before := len(t.gaps)
	t.gaps = slices.DeleteFunc(t.gaps, ended)
	if len(t.gaps) == before {
		return
	}
	if t.lacking = nil; len(t.gaps) == 0 {
		t.episodes.noGaps(how)
	}
	t.countLocked()
}
