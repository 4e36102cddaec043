package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/pipeline"
)

// mends is how long everything may take to work again when all faults are over: the longest
// backoff, a map, and connections that take a second to end. A name may follow later.
const mends = 6 * time.Second

// live makes one call of each kind for each node when all is well. None may fail, or take long.
func (w *world) live() {
	time.Sleep(mends - healing)
	most := time.Second + 20*w.settings.Terms.RoundTrip
	for i := range w.settings.Primaries {
		key := w.keyOf(i)
		if key == "" {
			continue
		}
		for _, call := range w.liveCalls(key) {
			ctx, cancel := context.WithTimeout(context.Background(), most)
			if err := call.run(ctx); err != nil {
				dead := fmt.Sprintf("%v after the last fault, a %s for %s, of %v: %v", mends, call.name, key, w.model.Owner(model.Slot([]byte(key))).Addr(), err)
				w.rec.note(func(h *History) { h.Dead = append(h.Dead, dead) })
			}
			cancel()
		}
	}
}

// A liveCall is one call of that time.
type liveCall struct {
	name string
	run  func(ctx context.Context) error
}

// liveCalls returns the calls for a key.
func (w *world) liveCalls(key string) []liveCall {
	return []liveCall{
		{"map", w.client.Sync},
		{"command", func(ctx context.Context) error { return w.client.Cmd(ctx, "INCRBY", key, 1).Err() }},
		{"read", func(ctx context.Context) error { return w.client.Cmd(ctx, "GET", key).Err() }},
		{"hit", func(ctx context.Context) error {
			return w.counters.Hit(ctx, []pipeline.Hit{{Key: "h" + key, By: 1, TTL: time.Minute}})
		}},
		{"blocking command", func(ctx context.Context) error { return w.client.Do(ctx, blocks("b"+key)) }},
		{"read from replicas", func(ctx context.Context) error {
			return w.client.DoSecondary(ctx, radix.Cmd(&radix.Maybe{}, "GET", key))
		}},
		{"limit", func(ctx context.Context) error {
			d := w.limiter.Allow(ctx, limit.Request{Limit: w.limits[0], Key: key}).Decision
			if cmp.Or(w.settings.Limiter.Budget, 100*time.Millisecond) < 5*w.settings.Terms.RoundTrip+20*time.Millisecond {
				return nil // no time for a dial
			}
			if errors.Is(d.Err, redislanes.ErrExhausted) {
				return nil // its refills may use the only connection
			}
			return d.Err
		}},
	}
}

// keyOf returns a key of the shard; "" if it has no slot.
func (w *world) keyOf(shard int) string {
	owner := w.primary(w.nodes[shard])
	for i := range 1000 {
		if key := fmt.Sprint("alive:", i); w.model.Owner(model.Slot([]byte(key))) == owner {
			return key
		}
	}
	return ""
}

// blocks waits for an element that nobody appends, over a dedicated connection.
func blocks(list string) radix.Action {
	return radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "0.01")
}

// alive: when everything has healed, everything works.
func alive(h *History) string {
	if len(h.Dead) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (and %d more)", h.Dead[0], len(h.Dead)-1)
}
