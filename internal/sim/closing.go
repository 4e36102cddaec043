package sim

import (
	"fmt"
	"time"
)

// In some worlds the client is closed while callers call it, in the midst of the
// last faults.

// chooseClosing returns when the client is closed, and whether its counters are
// closed before it; zero: at the end, when nobody calls.
func chooseClosing(seed uint64, s Schedule) (at time.Duration, countersFirst bool) {
	r := source(seed, ofClosing, 0)
	if len(s.Busy) == 0 || !chance(r, 4) {
		return 0, false
	}
	last := s.Busy[len(s.Busy)-1]
	return last.From + time.Duration(r.Int64N(int64(last.To-last.From))), chance(r, 2)
}

// closeEarly closes the client at that time.
func (w *world) closeEarly(at time.Duration, countersFirst bool) {
	time.Sleep(at - w.rec.now())
	if countersFirst { // which waits for the hits that are under way
		w.rec.note(func(h *History) { h.Shut = w.rec.now() })
		if err := w.counters.Close(); err != nil {
			w.unexpected("closing the counters: %v", err)
		}
	}
	w.rec.note(func(h *History) { h.Closing.From = w.rec.now() })
	if err := w.client.Close(); err != nil {
		w.unexpected("closing the client: %v", err)
	}
	w.rec.note(func(h *History) { h.Closing.To = w.rec.now() })
}

// closedBy reports whether the client was closed by then.
func (h *History) closedBy(at time.Duration) bool { return h.Closing.From > 0 && at >= h.Closing.From }

// closes is how long Close may take, and a call that it ends.
const closes = 20 * time.Millisecond

// stuckLog is how long Close waits for a log that does not return: that of the pools, and
// that of the client.
const stuckLog = 6 * time.Second

// closing: Close takes little time, ends the calls that are under way, and lets
// no other one succeed.
func closing(h *History) string {
	if h.Closing.From == 0 {
		return ""
	}
	most := closes + max(h.Terms.Parting, h.Terms.Closing, h.slackIn(h.Closing))
	if took := h.Closing.To - h.Closing.From; took < 0 || took > most {
		return fmt.Sprintf("Close began at %v and took %v", h.Closing.From, took)
	}
	for _, c := range h.Calls {
		switch {
		case c.Misuse || c.Own || c.Kind == burst || c.Kind == swarm || c.Kind == allowing: // a limiter decides without Redis
		case c.Began < h.Closing.From && c.Ended > h.Closing.To+closes+h.slackOf(c):
			return fmt.Sprintf("call %d (%s) began at %v and ended at %v, but the client was closed at %v", c.ID, c.Kind, c.Began, c.Ended, h.Closing)
		case c.Began > h.Closing.To && c.Err == nil:
			return fmt.Sprintf("call %d (%s) began at %v and succeeded, but the client was closed at %v", c.ID, c.Kind, c.Began, h.Closing)
		case c.Began > h.Closing.To && c.took() > h.slackOf(c):
			return fmt.Sprintf("call %d (%s) began at %v and took %v, but the client was closed at %v", c.ID, c.Kind, c.Began, c.took(), h.Closing)
		}
	}
	return ""
}
