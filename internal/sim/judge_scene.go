package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
)

// played: where nothing but a scene is about, those of its calls succeed that have to, and
// are over as soon as they have to be.
func played(h *History) string {
	for _, c := range h.Calls {
		if !c.Sure && c.Soon == 0 || h.closedBy(c.Ended) && !c.Own || !h.Terms.Roomy && h.crowded(c) || c.among(h.Crowds) {
			continue
		}
		f := h.only(c)
		switch {
		case f == nil, errors.Is(c.Err, redislanes.ErrExhausted) && (h.Terms.FewCalls || h.lentOut(c)):
		case c.Sure && c.Err != nil:
			return fmt.Sprintf("call %d (%s) of %q, %v after its beginning, failed after %v: %v", c.ID, c.Kind, f.name, c.Began-f.At, c.took(), c.Err)
		case c.Soon > 0 && c.took() > c.Soon:
			return fmt.Sprintf("call %d (%s) of %q, %v after its beginning, took %v, where %v are enough: %v", c.ID, c.Kind, f.name, c.Began-f.At, c.took(), c.Soon, c.Err)
		}
	}
	return ""
}

// unlearned: what the client has learned of a slot is not forgotten for what was before.
func unlearned(h *History) string {
	for _, b := range h.Unlearned {
		if h.about(b.At) <= 1 {
			return fmt.Sprintf("at %v the client believed that slot %d is that of %q, though it had learned of another owner since", b.At, b.Slot, b.Addr)
		}
	}
	return ""
}

// about returns how many faults are, or were until shortly before.
func (h *History) about(at time.Duration) (n int) {
	for _, f := range h.Faults {
		if f.overlaps(at-2*healing, at) {
			n++
		}
	}
	return n
}

// What the keys begin with of which reads by replicas are noted.
const (
	steadyKeys = "steady:" // read from replicas
	freshKeys  = "fresh:"  // read from the primary
)

// steady: reads of a key from replicas go to one of them, which may not be as far as
// another one, and those that are not meant for replicas go to none.
func steady(h *History) string {
	by := make(map[string]string)
	for i := range h.Reads {
		e := &h.Reads[i]
		switch before, known := by[e.Key]; {
		case h.about(e.At) > 1:
		case strings.HasPrefix(e.Key, freshKeys):
			return fmt.Sprintf("a replica was asked in place of the primary: %v", e)
		case known && before != e.Node:
			return fmt.Sprintf("another replica than %s, which was asked before, was asked: %v", before, e)
		}
		by[e.Key] = e.Node
	}
	return ""
}

// noteRead notes a read by a replica, of a key whose reads are.
func (w *world) noteRead(e model.Execution) {
	if !e.Replica || len(e.Args) < 2 || !slices.ContainsFunc([]string{steadyKeys, freshKeys}, func(p string) bool { return strings.HasPrefix(string(e.Args[1]), p) }) {
		return
	}
	x := Execution{At: w.rec.at(e.At), Node: w.reached(e.Node), Conn: e.Conn, Text: textOf(e.Args), Key: string(e.Args[1]), Reply: plain(e.Reply)}
	w.rec.note(func(h *History) { h.Reads = append(h.Reads, x) })
}
