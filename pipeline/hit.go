package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/turns"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Hit is one count of a call of [Counters.Hit], and its outcome.
type Hit struct {
	Key  string
	By   int64 // what is added; may be negative. Default 1
	Look bool  // nothing is added, whatever By is: INCRBY 0, which creates a key that does not exist

	// TTL is the key's time to live from its first hit on, or from this hit on with
	// ExpireEveryHit. 0 or less leaves it alone. Less than a millisecond counts as one, because a
	// program may set what is left of a window. A positive TTL below a microsecond is an error: a
	// number without a unit counts nanoseconds. If hits that travel together have different TTLs,
	// the longest counts.
	TTL time.Duration

	Total int64 // the counter after the hit; 0 if it failed
	// Err is why the hit failed, as for a [Reply]. If the hit was counted and its key may have
	// no time to live, it is redislanes.ErrUnknownOutcome. Do not repeat such a hit.
	Err error
}

func (h *Hit) by() int64 {
	switch {
	case h.Look:
		return 0
	case h.By == 0:
		return 1
	}
	return h.By
}

func (h *Hit) fail(err error) { h.Total, h.Err = 0, notCounted(err) }

func notCounted(err error) error { return wire.Named("INCRBY", "", err) }

// fail ends a call that has not begun.
func fail(hits []Hit, err error) error {
	for i := range hits {
		hits[i].fail(err)
	}
	if len(hits) == 0 {
		return fmt.Errorf("pipeline: Hit: %w", err)
	}
	return firstFailure(hits)
}

func firstFailure(hits []Hit) error {
	var result *redislanes.PipelineError
	for i := range hits {
		if hits[i].Err == nil {
			continue
		}
		if result == nil {
			result = &redislanes.PipelineError{Total: len(hits), First: hits[i].Err}
		}
		result.Failed++
	}
	if result == nil {
		return nil
	}
	return result
}

// A hitCall is one call of Counters.Hit. Some of its hits travel in its pipeline, the others wait on
// their keys. It is used again, unless its caller left before all hits had ended.
type hitCall struct {
	counters    *Counters
	p           *Pipeline
	alone       []*Hit    // of each of the pipeline's counts
	waits       []waiter  // keys point to them
	deadline    time.Time // of its context; zero for none
	turns.Latch           // of hits that wait
}

// run counts the hits. Hits that wait are withdrawn also if a panic ends the call: its caller may
// recover.
func (c *hitCall) run(ctx context.Context, hits []Hit) {
	err := errPanic
	defer func() { c.end(err) }()
	c.deadline, _ = ctx.Deadline()
	c.Begin()
	c.join(hits)
	if len(c.alone) > 0 {
		c.send(ctx)
	}
	err = c.Wait(ctx)
}

// join has each hit travel in the call's pipeline or wait on its key.
func (c *hitCall) join(hits []Hit) {
	all := c.counters
	owners, most := all.client.Owners(), int32(mostAlone)
	if len(hits) == 1 {
		most = mostAloneOfOne
	}
	c.waits = slices.Grow(c.waits, len(hits))
	for i := range hits {
		h := &hits[i]
		h.Total, h.Err = 0, nil
		if err := unitless(h.TTL); err != nil {
			h.fail(err)
			continue
		}
		hash := maphash.String(all.seed, h.Key)
		if s := all.stripe(hash); !s.admit(hash, h.Key, most) {
			c.waits = append(c.waits, waiter{call: c, stripe: s, hit: h, by: h.by()})
			all.wait(hash, &c.waits[len(c.waits)-1])
			continue
		}
		c.alone = append(c.alone, h)
		c.p.count(count{key: h.Key, by: h.by(), ttl: h.TTL, belief: all.expiries.belief(hash, owners, h.TTL)}, all.behind)
	}
}

// send sends the hits that travel in the call's pipeline.
func (c *hitCall) send(ctx context.Context) {
	defer func() {
		for i := range c.p.counts {
			c.counters.stripe(c.p.counts[i].hash).alone.Add(-1)
		}
	}()
	_ = c.p.Do(ctx) // each count has its own error
	for i, h := range c.alone {
		x := &c.p.counts[i]
		c.counters.expiries.learn(x)
		h.Total, h.Err = x.of(x.total, x.ttl)
	}
}

// end makes the call ready for the next one. If it has not ended well, hits that have not ended leave, and the
// call is not used again: keys may point to its hits.
func (c *hitCall) end(err error) {
	if err != nil {
		for i := range c.waits {
			c.counters.leave(&c.waits[i], err)
		}
		return
	}
	if len(c.alone) > 0 {
		c.p.Reset()
	}
	clear(c.alone)
	clear(c.waits)
	c.alone, c.waits = c.alone[:0], c.waits[:0]
	if cap(c.waits) <= keptHits {
		c.counters.calls.Put(c)
	}
}
