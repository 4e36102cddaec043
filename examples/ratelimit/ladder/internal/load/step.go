// Package load sends requests to a rate-limit service in an open loop: requests are
// due at the times of a schedule, whatever the service does, and a latency counts
// from when its request was due.
package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Step is a load at one rate.
type Step struct {
	Rate        int           // requests a second that are due, at equal distances
	WarmUp      time.Duration // of the same load, before what is measured
	For         time.Duration // what is measured
	Outstanding int           // requests that may be under way; those due beyond it fail
	Timeout     time.Duration // of each request, from when it was due

	// Key draws the key of the next request. One goroutine calls it.
	Key func() int
	// Send sends a request and reports whether it was denied. It is called from many
	// goroutines.
	Send func(ctx context.Context, key int) (denied bool, err error)
	// Used, if set, returns how long each part of what is measured has run on processors so far.
	Used func() map[string]time.Duration
}

// A run is one use of a step.
type run struct {
	Step
	began, measured, end time.Time // measured is when the warm-up ends
	calls                sync.WaitGroup
	outstanding          atomic.Int64

	mu     sync.Mutex // guards what follows
	result *Result
}

// Run sends the requests of the step and returns what became of those that were
// due in the measured time, when all are answered or failed. The context's end
// interrupts the step; requests under way count for nothing then.
func (s Step) Run(ctx context.Context) *Result {
	now := time.Now()
	r := &run{Step: s, began: now, measured: now.Add(s.WarmUp), end: now.Add(s.WarmUp + s.For), result: newResult()}
	r.dispatch(ctx)
	last := time.Now()
	r.calls.Wait()
	end := r.end
	if ctx.Err() != nil {
		r.result.Interrupted = true
		if last.Before(end) {
			end = last
		}
	}
	r.result.Took = max(0, end.Sub(r.measured))
	return r.result
}

// due returns when a request is due.
func (r *run) due(i int) time.Time {
	seconds, rest := time.Duration(i/r.Rate), time.Duration(i%r.Rate)
	return r.began.Add(seconds*time.Second + rest*time.Second/time.Duration(r.Rate))
}

// dispatch begins each request when it is due. After a time in which this process
// did not run it begins those that were missed at once.
func (r *run) dispatch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	use := meter{read: r.Used}
	for i := 0; ; i++ {
		due := r.due(i)
		if !due.Before(r.end) {
			r.result.Cores = use.cores()
			return
		}
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return
		}
		if use.before == nil && !due.Before(r.measured) {
			use.start()
		}
		r.begin(ctx, due)
	}
}

// begin sends a request in a goroutine of its own, or lets it fail if too many are
// outstanding. Only dispatch raises their number, so it stays within its bound.
func (r *run) begin(ctx context.Context, due time.Time) {
	outstanding := int(r.outstanding.Load())
	if outstanding >= r.Outstanding {
		now := time.Now()
		r.note(request{due: due, sent: now, ended: now, err: errNotSent}, outstanding)
		return
	}
	key := r.Key()
	r.outstanding.Add(1)
	r.calls.Go(func() {
		defer r.outstanding.Add(-1)
		q := r.call(ctx, due, key)
		if q.err != nil && ctx.Err() != nil {
			return
		}
		r.note(q, outstanding+1)
	})
}

// A request is what became of one.
type request struct {
	due, sent, ended time.Time
	denied           bool
	err              error
}

func (r *run) call(ctx context.Context, due time.Time, key int) request {
	q := request{due: due, sent: time.Now()}
	ctx, cancel := context.WithDeadline(ctx, due.Add(r.Timeout))
	q.denied, q.err = r.Send(ctx, key)
	cancel()
	q.ended = time.Now()
	return q
}

// note counts a request, by when it was due: for the actual rate alone, a reply
// counts by when it arrived.
func (r *run) note(q request, outstanding int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.err == nil && !q.ended.Before(r.measured) && q.ended.Before(r.end) {
		r.result.Answered++
	}
	if !q.due.Before(r.measured) {
		r.result.add(q, outstanding)
	}
}

// A meter tells how many processors each part of a measurement has used between two moments.
type meter struct {
	read   func() map[string]time.Duration // nil: nothing is told
	began  time.Time
	before map[string]time.Duration
}

func (m *meter) start() {
	if m.read != nil {
		m.began, m.before = time.Now(), m.read()
	}
}

// cores leaves out parts that are not known at both moments.
func (m *meter) cores() map[string]float64 {
	if m.before == nil {
		return nil
	}
	all := make(map[string]float64)
	took := time.Since(m.began)
	for part, used := range m.read() {
		if before, known := m.before[part]; known && took > 0 {
			all[part] = (used - before).Seconds() / took.Seconds()
		}
	}
	return all
}
