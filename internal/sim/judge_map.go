package sim

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// A Belief is what the client began to think of a slot.
type Belief struct {
	At   time.Duration
	Slot uint16
	Addr string // of its primary; "": none
}

// lateness is how old a map may be that the client begins to believe: a node that hears
// nothing of the others tells of what was.
const lateness = 30 * time.Second

// believed: the client believes no map by which a slot is a node's that did not have it,
// where others can contradict.
func believed(h *History) string {
	if h.Terms.Primaries < 3 {
		return ""
	}
	for _, b := range h.Wrong {
		misled, mute := 0, 0 // one node may be contradicted, where two are not, by one that answers, unless none is left
		for _, f := range h.Faults {
			if f.overlaps(b.At-lateness, b.At) {
				misled += f.misleads
			}
			if f.mute && f.overlaps(b.At-time.Second, b.At) {
				mute++
			}
		}
		if misled < 2 && (misled == 0 || mute == 0) && mute < h.Terms.Primaries {
			return fmt.Sprintf("at %v the client believed that slot %d is that of %q, whose it was not for %v at least", b.At, b.Slot, b.Addr, lateness)
		}
	}
	return ""
}

// askMap asks the client whose the slots are that the load uses, and notes what it has
// changed its mind about and is wrong.
func (w *world) askMap() {
	client := w.user.client.Load()
	w.mapMu.Lock()
	defer w.mapMu.Unlock()
	now, since := w.rec.now(), time.Now().Add(-lateness)
	for slot, before := range w.believed {
		addr := client.Primary(slot)
		if addr == before {
			continue
		}
		w.believed[slot] = addr
		if !w.ownedSince(slot, addr, since) {
			w.rec.note(func(h *History) { h.Wrong = append(h.Wrong, Belief{now, slot, addr}) })
		}
	}
}

// slotsOfLoad returns the slots of the keys that callers count.
func slotsOfLoad() map[uint16]string {
	slots := make(map[uint16]string)
	for i := range counterKeys {
		slots[cluster.Slot(fmt.Sprint("p:", i))] = ""
	}
	for i := range hitKeys {
		slots[cluster.Slot(fmt.Sprint("c:", i))] = ""
	}
	return slots
}
