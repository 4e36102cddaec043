package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// onesOwn is what keys begin with that one call asks about.
const onesOwn = "mine"

// fills asks about keys that no other call asks about. What it is denied was taken back
// when it asks for the last time, so that there is room, whatever the near cache thinks.
func (a *attempt) fills() {
	rules := a.w.settings.Terms.Rules
	rule := a.r.IntN(len(rules))
	fixed := slices.IndexFunc(rules, func(r limit.Rule) bool { return r.Algorithm == limit.FixedWindow })
	if r := &rules[rule]; r.Shadow || r.CountDenied || r.Name == changed {
		return
	}
	mine, full := fmt.Sprint(onesOwn, a.ID), fmt.Sprint("full", a.ID)
	size, others := capacity(&rules[rule]), capacity(&rules[fixed])
	of := func(key string, cost int64) Ask { return Ask{Rule: rule, Key: key, Cost: cost} }
	pause := 5*a.w.settings.Terms.RoundTrip + 10*time.Millisecond
	if chance(a.r, 2) {
		a.ask(a.ctx, of(mine, size-1))
		a.ask(a.ctx, of(mine, 2)) // a hit too many, and one would fit
	} else {
		a.ask(a.ctx, Ask{Rule: fixed, Key: full, Cost: others})
		ctx, cancel := context.WithCancel(a.ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			a.ask(ctx, of(mine, size), Ask{Rule: fixed, Key: full, Cost: 1}) // taken back, for the second is denied
			cancel()
		})
		wg.Go(func() {
			if a.pause(a.w.settings.Latency) {
				a.ask(a.ctx, of(mine, 1)) // meanwhile there is no room
			}
		})
		wg.Wait()
		pause += 2 * cmp.Or(a.w.settings.Limiter.Budget, 100*time.Millisecond)
	}
	if a.pause(pause) {
		a.ask(a.ctx, of(mine, 1))
	}
}

// pause waits, and reports whether the call is to go on.
func (a *attempt) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
	}
	return a.ctx.Err() == nil
}
