package sim

import "time"

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
		w.closes("counters", w.counters.Close())
	}
	w.closed.Store(true)
	w.closes("client", w.client.Close())
}
