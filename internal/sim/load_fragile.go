package sim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// A fragileContext is a context of the user's own making, which panics when it is asked
// whether it has ended, but for some times at the beginning: then nothing is under way yet.
type fragileContext struct {
	context.Context
	left int
}

func (c *fragileContext) Err() error {
	if c.left--; c.left < 0 {
		panic("a user's context panics")
	}
	return c.Context.Err()
}

var errFragile = fmt.Errorf("a user's context panics: %w", redislanes.ErrUnknownOutcome)

// fragile hits keys with a context that panics, which the caller survives: it hits the same
// keys again, which is a call like any other. It hits each of them twice, so that others
// wait behind what it leaves.
func (a *attempt) fragile() {
	a.Misuse, a.Err, a.Limit = true, errFragile, 0
	var hits []pipeline.Hit
	for i := range 2 * (1 + a.r.IntN(3)) {
		hits = append(hits, a.hitting(a.onceKey(i/2), a.amount(), onceTTL))
	}
	func() {
		defer func() { _ = recover() }()
		_ = a.w.counters.Hit(&fragileContext{a.ctx, 1}, hits)
	}()
	for i := range a.Commands {
		a.Commands[i].settle("", errFragile)
	}
	again := &action{name: "once", run: func(b *attempt) {
		for i := range hits {
			hits[i] = b.hitting(a.onceKey(i/2), b.amount(), onceTTL)
		}
		b.Err = b.w.counters.Hit(b.ctx, hits)
		_ = b.counted(hits, 0)
	}}
	a.w.call(rand.New(rand.NewPCG(a.r.Uint64(), 0)), a.ID+1, again)
}

// refusedPipeline has a command that the server refuses, for an argument that no error may
// show.
func (a *attempt) refusedPipeline() {
	a.Misuse = true
	key := "w" + a.own()
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "SET", key, a.value(key)))
	p.Append(radix.Cmd(nil, "INCRBY", key, a.value(key)))
	if chance(a.r, 2) {
		a.Err = a.w.client.Do(a.ctx, p)
		return
	}
	a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, p) }))
}
