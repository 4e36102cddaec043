package load

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// run lets the phase's callers send until its end.
func (e *Endpoint) run(ctx context.Context, phase settings.Step, to *recorder) {
	began := time.Now()
	end := began.Add(phase.For.Duration)
	ctx, cancel := context.WithDeadline(ctx, end.Add(grace))
	defer cancel()
	var arrivals *schedule
	if e.load.Rate > 0 {
		arrivals = &schedule{began: began, end: end, rate: e.load.Rate}
	}
	var callers sync.WaitGroup
	for _, c := range e.callers[:phase.Callers] {
		callers.Go(func() {
			t := &tally{to: to}
			next := func(now time.Time) (time.Time, bool) { return now, now.Before(end) }
			if arrivals != nil {
				timer := time.NewTimer(0)
				defer timer.Stop()
				next = func(time.Time) (time.Time, bool) { return arrivals.await(ctx, timer) }
			}
			c.loop(ctx, next, t)
			t.flush()
		})
	}
	callers.Wait()
	if arrivals != nil && ctx.Err() == nil {
		if n := arrivals.missed(); n > 0 {
			to.result.fail(overload, Failure{n, "no caller was free until the end: more callers, or a lower rate"})
		}
	}
}

// loop sends requests until next has no more. Next returns when a request is due. Its latency counts
// from then. In a closed loop, that is the end of the request before.
func (c *caller) loop(ctx context.Context, next func(now time.Time) (due time.Time, ok bool), t *tally) {
	now := time.Now()
	for {
		due, ok := next(now)
		if !ok {
			return
		}
		class, err := c.request(ctx)
		if interrupted(ctx) {
			return
		}
		if now = time.Now(); err != nil {
			t.fail(err)
		} else {
			t.add(class, now.Sub(due))
		}
	}
}

// interrupted reports whether somebody has ended the measurement. That a request
// took longer than the grace is a failure instead.
func interrupted(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// A schedule is the arrivals of an open loop, at a constant rate.
type schedule struct {
	began, end time.Time
	rate       float64 // a second
	taken      atomic.Int64
	served     atomic.Int64
}

// next returns the next arrival's time, which may have passed; ok is false behind the end.
func (s *schedule) next() (at time.Time, ok bool) {
	i := s.taken.Add(1) - 1
	at = s.began.Add(time.Duration(float64(i) / s.rate * float64(time.Second)))
	if !at.Before(s.end) || !time.Now().Before(s.end) {
		return at, false
	}
	s.served.Add(1)
	return at, true
}

// missed returns how many arrivals nobody was free for until the end.
func (s *schedule) missed() int64 {
	all := int64(math.Ceil(s.end.Sub(s.began).Seconds() * s.rate))
	return max(0, all-s.served.Load())
}

// await takes the next arrival and waits for its time. A latency that counts from then does not
// leave out what waits behind a slow reply.
func (s *schedule) await(ctx context.Context, timer *time.Timer) (at time.Time, ok bool) {
	if at, ok = s.next(); !ok {
		return at, false
	}
	if wait := time.Until(at); wait > 0 {
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return at, false
		}
	}
	return at, true
}
