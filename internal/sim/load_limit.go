package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
)

// An Allowance is one call of a limiter.
type Allowance struct {
	Began, Ended time.Duration
	Limit        time.Duration // when its context ends; 0: never
	Deadline     bool          // by a deadline, and not because it was cancelled
	Asks         []Ask
	Allowed      bool
}

// An Ask is one request of it, and what was decided.
type Ask struct {
	Rule int
	Key  string
	Cost int64
	limit.Decision
	Settled *Settling // if it is a reservation that was
}

// chooseLimits makes the rules of a world and the settings of its limiter.
func (s *Settings) chooseLimits(seed uint64) {
	r := source(seed, ofLimits, 0)
	window := func() time.Duration {
		return oneOf(r, 500*time.Millisecond, 2*time.Second, 10*time.Second, time.Minute)
	}
	few := func() int64 { return 2 + r.Int64N(10) }
	rate := window()
	s.Terms.Rules = []limit.Rule{
		{Name: "fixed", Quota: few(), Window: window()},
		{Name: "closed", Quota: few(), Window: window(), FailClosed: true},
		{Name: "denied", Quota: few(), Window: window(), CountDenied: true},
		{Name: "sliding", Quota: few(), Window: window(), Algorithm: limit.SlidingWindow},
		{Name: "sliding", Quota: few(), Window: time.Second, Algorithm: limit.SlidingWindow},
		{Name: "bucket", Quota: few(), Window: window(), Algorithm: limit.TokenBucket, FailClosed: true},
		{Name: "burst", Quota: few(), Burst: few(), Window: window(), Algorithm: limit.TokenBucket},
		{Name: "shadow", Quota: few(), Window: window(), Shadow: true},
		{Name: changed, Quota: 1, Burst: 100, Window: rate, Algorithm: limit.TokenBucket},
		{Name: changed, Quota: 100, Burst: 4, Window: rate, Algorithm: limit.TokenBucket},
		{Name: "leased", Quota: 200, Window: leasedWindow},
		{Name: kept, Quota: oneOf[int64](r, 500, 2000), Window: keptWindow},
	}
	s.Limiter = limit.Config{
		Budget:    oneOf(r, 0, 0, s.Terms.RoundTrip*3/2+2*time.Millisecond, 300*time.Millisecond),
		NearCache: oneOf(r, 0, 0, -1, 32), Instances: oneOf(r, 0, 0, 3), Observer: new(ledger),
	}
	s.Terms.Instances = s.Limiter.Instances
}

// changed is the name of rules that share their keys, as when a rule is changed while
// others still use it as it was.
const changed = "changed"

// makeLimiter makes the limiter and its limits.
func (w *world) makeLimiter() error {
	limiter, err := w.settings.Limiter.New(w.client)
	if err != nil {
		return err
	}
	w.limiter = limiter
	if w.places, err = (places.Config{Name: placesName, Max: mostHolders, TTL: 2 * time.Second, Budget: w.settings.Limiter.Budget}).New(w.client); err != nil {
		return err
	}
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
		if a.ask(a.ctx, asks...); errors.Is(a.Err, redislanes.ErrClosed) {
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
	hot := Ask{Rule: len(a.w.limits) - 1 - a.r.IntN(2), Key: fmt.Sprint("rush", a.r.IntN(2))}
	if chance(a.r, 3) { // across the end of a window
		a.ctx, a.Limit = context.Background(), 0
		now := time.Now()
		a.pause(now.Truncate(leasedWindow).Add(leasedWindow - 80*time.Millisecond).Sub(now))
	}
	a.hammer(hot)
}

// lastRush leaves a lease for Close to return.
func (a *attempt) lastRush() {
	a.ctx, a.Limit = context.Background(), 0
	a.hammer(Ask{Rule: len(a.w.limits) - 1, Key: "last"})
}

// hammer asks again and again.
func (a *attempt) hammer(hot Ask) {
	other := Ask{Rule: 0, Key: hot.Key, Cost: 1} // which denies most calls
	most := hotRate * int64(2*a.w.settings.Latency+time.Millisecond) / int64(time.Second)
	var askers sync.WaitGroup
	for range max(3, most) {
		askers.Go(func() {
			for i := int64(0); i < 120 && a.pause(time.Millisecond); i++ {
				ask := hot
				switch ask.Cost = 1 + i%3; i % 8 {
				case 3:
					a.ask(a.ctx, ask, other)
				case 7:
					a.reserve(ask, i%5)
				default:
					a.ask(a.ctx, ask)
				}
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

// ask makes one call of the limiter, in a context that is the attempt's or ends with it.
func (a *attempt) ask(ctx context.Context, asks ...Ask) { a.decide(ctx, a.w.limiter.Allow, asks) }

// decide has a method of the limiter decide.
func (a *attempt) decide(ctx context.Context, by func(context.Context, ...limit.Request) limit.Result, asks []Ask) {
	requests := make([]limit.Request, len(asks))
	for i := range asks {
		requests[i] = limit.Request{Limit: a.w.limits[asks[i].Rule], Key: asks[i].Key, Cost: asks[i].Cost}
	}
	x := &Allowance{Began: a.w.rec.now(), Limit: a.Limit, Deadline: a.Deadline, Asks: asks}
	result := by(ctx, requests...)
	x.Ended, x.Allowed = a.w.rec.now(), result.Allowed
	for i, d := range result.Each {
		d.Err = a.w.frozen(d.Err)
		x.Asks[i].Decision = d
	}
	a.w.rec.note(func(h *History) {
		h.Allowances = append(h.Allowances, x)
		for i := range asks {
			a.Err = cmp.Or(a.Err, asks[i].Err)
		}
	})
}
