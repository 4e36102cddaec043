package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit"
)

// An Allowance is one call of a limiter.
type Allowance struct {
	Began, Ended time.Duration
	Asks         []Ask
	Allowed      bool
}

// An Ask is one request of it, and what was decided.
type Ask struct {
	Rule int
	Key  string
	Cost int64
	limit.Decision
}

// chooseLimits makes the rules of a world and the settings of its limiter.
func (s *Settings) chooseLimits(seed uint64) {
	r := source(seed, ofLimits, 0)
	window := func() time.Duration {
		return oneOf(r, 500*time.Millisecond, 2*time.Second, 10*time.Second, time.Minute)
	}
	few := func() int64 { return 2 + r.Int64N(10) }
	s.Terms.Rules = []limit.Rule{
		{Name: "fixed", Quota: few(), Window: window()},
		{Name: "closed", Quota: few(), Window: window(), FailClosed: true},
		{Name: "many", Quota: 4 * few(), Window: window()},
		{Name: "sliding", Quota: few(), Window: window(), Algorithm: limit.SlidingWindow},
		{Name: "bucket", Quota: few(), Window: window(), Algorithm: limit.TokenBucket, FailClosed: true},
		{Name: "leased", Quota: 200, Window: leasedWindow},
	}
	s.Limiter = limit.Config{
		Budget:    oneOf(r, 0, 0, s.Terms.RoundTrip*3/2+2*time.Millisecond, 300*time.Millisecond),
		NearCache: oneOf(r, 0, 0, -1, 32),
	}
}

// makeLimiter makes the limiter and its limits.
func (w *world) makeLimiter() error {
	limiter, err := w.settings.Limiter.New(w.client)
	if err != nil {
		return err
	}
	w.limiter = limiter
	for _, rule := range w.settings.Terms.Rules {
		l, err := rule.New(limiter)
		if err != nil {
			return err
		}
		w.limits = append(w.limits, l)
	}
	return nil
}

// allowing is the kind of calls that ask the limiter.
const allowing = "limits"

// limits asks the limiter several times, one call after the other.
func (a *attempt) limits() {
	rule, key := a.r.IntN(len(a.w.limits)), a.r.IntN(3)
	for range 1 + a.r.IntN(12) {
		if a.ctx.Err() != nil {
			return
		}
		asks := []Ask{{Rule: rule, Key: fmt.Sprint("u", key)}}
		if chance(a.r, 3) { // of all or nothing
			asks = append(asks, Ask{Rule: a.r.IntN(len(a.w.limits)), Key: fmt.Sprint("u", a.r.IntN(3))})
		}
		for i := range asks {
			asks[i].Cost = oneOf[int64](a.r, 1, 1, 1, 1, 2, 3)
		}
		if a.ask(asks...); errors.Is(a.Err, redislanes.ErrClosed) {
			return
		}
		a.pause(time.Duration(a.r.Int64N(int64(150 * time.Millisecond))))
	}
}

// hotRate is how often a second a key is hit at least that has a lease, with some to spare.
const (
	hotRate      = 250
	leasedWindow = 10 * time.Second
)

// rush asks about one key so often that the limiter decides by a lease, and beyond the limit.
func (a *attempt) rush() {
	hot := Ask{Rule: len(a.w.limits) - 1, Key: fmt.Sprint("rush", a.r.IntN(2))}
	if chance(a.r, 3) { // across the end of a window
		a.ctx, a.Limit = context.Background(), 0
		now := time.Now()
		a.pause(now.Truncate(leasedWindow).Add(leasedWindow - 80*time.Millisecond).Sub(now))
	}
	most := hotRate * int64(2*a.w.settings.Latency+time.Millisecond) / int64(time.Second)
	var askers sync.WaitGroup
	for range max(3, most) {
		askers.Go(func() {
			for i := int64(0); i < 120 && a.pause(time.Millisecond); i++ {
				asks := []Ask{hot}
				if asks[0].Cost = 1 + i%3; i%8 == 3 { // which denies most calls
					asks = append(asks, Ask{Rule: 0, Key: hot.Key, Cost: 1})
				}
				a.ask(asks...)
			}
		})
	}
	askers.Wait()
}

// pause waits, and reports whether the call is to go on.
func (a *attempt) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
	}
	return a.ctx.Err() == nil
}

// ask makes one call of the limiter.
func (a *attempt) ask(asks ...Ask) {
	requests := make([]limit.Request, len(asks))
	for i := range asks {
		requests[i] = limit.Request{Limit: a.w.limits[asks[i].Rule], Key: asks[i].Key, Cost: asks[i].Cost}
	}
	x := &Allowance{Began: a.w.rec.now(), Asks: asks}
	result := a.w.limiter.Allow(a.ctx, requests...)
	x.Ended, x.Allowed = a.w.rec.now(), result.Allowed
	for i, d := range result.Each() {
		a.w.told(d.Err)
		asks[i].Decision = d
	}
	a.w.rec.note(func(h *History) {
		h.Allowances = append(h.Allowances, x)
		for i := range asks {
			if a.Err == nil {
				a.Err = asks[i].Err
			}
		}
	})
}
