package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

const (
	callers     = 32
	keysPerCall = 5
	deadline    = 100 * time.Millisecond // of a call
	pause       = 2 * time.Millisecond   // of a caller, between two calls
)

// A load is the callers of one episode.
type load struct {
	*soak
	keys    []string
	tallies []tally // of each key
	stop    chan struct{}
	wait    sync.WaitGroup

	calls, lost, clung atomic.Int64 // lost: calls to a lost shard; clung: those of them that took half of their time
}

// A tally is what the callers were told of the INCRBY 1 of one key.
type tally struct{ acknowledged, unknown atomic.Int64 }

func (s *soak) newLoad(keys []string) *load {
	return &load{soak: s, keys: keys, tallies: make([]tally, len(keys)), stop: make(chan struct{})}
}

func (l *load) start(seed uint64) {
	for i := range callers {
		c := &caller{load: l, pipeline: pipeline.New(l.client), random: rand.New(rand.NewPCG(seed, uint64(i))), last: make([]int64, len(l.keys))}
		l.wait.Go(func() { c.run([]func(context.Context, []int) error{c.send, c.hit}[i%2]) })
	}
}

// end lets the callers finish their calls.
func (l *load) end() {
	close(l.stop)
	l.wait.Wait()
}

// A caller makes one call after the other.
type caller struct {
	*load
	pipeline *pipeline.Pipeline
	random   *rand.Rand
	last     []int64 // the total that the caller saw of each key last
}

func (c *caller) run(count func(ctx context.Context, keys []int) error) {
	next := time.NewTicker(pause)
	defer next.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-next.C:
			c.call(count)
		}
	}
}

// call counts different keys, as two INCRBY of one key could change places if only the first is refused.
func (c *caller) call(count func(ctx context.Context, keys []int) error) {
	picked := c.random.Perm(len(c.keys))[:keysPerCall]
	lost, began := c.soak.lost.Load(), time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(deadline))
	defer cancel()
	err := count(ctx, picked)
	c.calls.Add(1)
	if lost && c.soak.lost.Load() {
		c.load.lost.Add(1)
		if time.Since(began) > deadline/2 {
			c.clung.Add(1)
		}
	}
	var typed *redislanes.PipelineError
	if err != nil && !errors.As(err, &typed) {
		c.found("a call returned %v", err)
	}
}

// send counts by a pipeline.
func (c *caller) send(ctx context.Context, picked []int) error {
	p := c.pipeline
	p.Reset()
	var totals, expiries [keysPerCall]pipeline.Reply
	for i, key := range picked {
		totals[i], expiries[i] = p.IncrBy(c.keys[key], 1), p.Expire(c.keys[key], time.Hour)
	}
	err, failed := p.Do(ctx), false
	for i, r := range totals {
		total, _ := r.Int() // 0 if it failed, which the error says
		failed = c.judge(picked[i], total, r.Err()) || c.outcome(expiries[i].Err()) != acknowledged || failed
	}
	if (err != nil) != failed {
		c.found("Do returned %v, and a command failed: %t", err, failed)
	}
	return err
}

// hit counts by Counters.
func (c *caller) hit(ctx context.Context, picked []int) error {
	hits := make([]pipeline.Hit, keysPerCall)
	for i, key := range picked {
		hits[i] = pipeline.Hit{Key: c.keys[key], TTL: time.Hour}
	}
	err, failed := c.counters.Hit(ctx, hits), false
	for i, h := range hits {
		failed = c.judge(picked[i], h.Total, h.Err) || failed
	}
	if (err != nil) != failed {
		c.found("Hit returned %v, and a hit failed: %t", err, failed)
	}
	return err
}

// judge notes how an INCRBY ended, and reports whether it failed.
func (c *caller) judge(key int, total int64, err error) (failed bool) {
	switch c.outcome(err) {
	case unknown, impossible:
		c.tallies[key].unknown.Add(1)
	case acknowledged:
		c.tallies[key].acknowledged.Add(1)
		if total <= c.last[key] && c.lossless.Load() {
			c.found("INCRBY of %s: a caller got %d after %d", c.keys[key], total, c.last[key])
		}
		c.last[key] = total
	}
	return err != nil
}

func (c *caller) outcome(err error) outcome {
	o := outcomeOf(err)
	if o == impossible {
		c.found("a command ends in none of the four ways: %v", err)
	}
	return o
}

// An outcome is how a command ended.
type outcome int

const (
	acknowledged outcome = iota
	unknown
	notRun     // refused or not sent
	impossible // none of these, or two at once
)

func outcomeOf(err error) outcome {
	isUnknown, ranNot := errors.Is(err, redislanes.ErrUnknownOutcome), errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrRefused)
	switch {
	case err == nil:
		return acknowledged
	case isUnknown == ranNot:
		return impossible
	case isUnknown:
		return unknown
	}
	return notRun
}

// violation compares a key's value with what the callers were told; "" if they agree.
func violation(key string, value, acknowledged, unknown int64, lossless bool) string {
	if value <= acknowledged+unknown && (value >= acknowledged || !lossless) {
		return ""
	}
	return fmt.Sprintf("%s = %d: acknowledged %d, unknown %d, lossless %t", key, value, acknowledged, unknown, lossless)
}
