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
	send := e.closedLoop(ctx, end)
	var arrivals *schedule
	if e.load.Rate > 0 {
		arrivals = &schedule{began: began, end: end, rate: e.load.Rate}
		send = e.openLoop(ctx, arrivals)
	}
	var callers sync.WaitGroup
	for _, c := range e.callers[:phase.Callers] {
		callers.Go(func() {
			t := &tally{to: to}
			send(c, t)
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

// closedLoop lets a caller send its next request when it has the reply to the
// last.
func (e *Endpoint) closedLoop(ctx context.Context, end time.Time) func(*caller, *tally) {
	return func(c *caller, t *tally) {
		for began := time.Now(); began.Before(end); {
			class, err := c.request(ctx)
			if interrupted(ctx) {
				return
			}
			now := time.Now()
			if err != nil {
				t.fail(err)
			} else {
				t.add(class, now.Sub(began))
			}
			began = now
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

// next returns the next arrival's time, which may have passed; ok is false
// behind the end.
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

// openLoop lets the callers take arrivals as they are free. A latency counts
// from when its request should have begun, so that what waits behind a slow
// reply is not left out.
func (e *Endpoint) openLoop(ctx context.Context, arrivals *schedule) func(*caller, *tally) {
	return func(c *caller, t *tally) {
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			at, ok := arrivals.next()
			if !ok {
				return
			}
			if wait := time.Until(at); wait > 0 {
				timer.Reset(wait)
				select {
				case <-timer.C:
				case <-ctx.Done():
					return
				}
			}
			class, err := c.request(ctx)
			if interrupted(ctx) {
				return
			}
			if err != nil {
				t.fail(err)
			} else {
				t.add(class, time.Since(at))
			}
		}
	}
}
