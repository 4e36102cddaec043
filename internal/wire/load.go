package wire

import "sync/atomic"

// A Load is how many batches are in flight on the lanes that it was given to
// ([Lane.CountIn]), all together. The peaks of single lanes, added up, count a
// caller twice that has moved from one to another: a pool with the load of 3 lanes
// grew to 5. The zero value is ready to use; its methods are safe for concurrent
// use.
type Load struct{ now, peak atomic.Int64 }

// Now returns how many batches are in flight.
func (l *Load) Now() int { return int(l.now.Load()) }

// TakePeak returns how many batches were in flight at most since it was last
// called, which begins a new span.
func (l *Load) TakePeak() int {
	for {
		peak, now := l.peak.Load(), l.now.Load()
		if l.peak.CompareAndSwap(peak, now) {
			return int(max(peak, now))
		}
	}
}

func (l *Load) add() {
	now := l.now.Add(1)
	for {
		peak := l.peak.Load()
		if now <= peak || l.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

func (l *Load) remove(n int) { l.now.Add(-int64(n)) }

// CountIn makes the batches that are enqueued from now on part of the load, but
// for those with [Batch.Uncounted]. It must be called before the lane is used.
func (l *Lane) CountIn(load *Load) { l.load = load }
