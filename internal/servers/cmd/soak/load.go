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
	keysPerCall = 5
	pause       = 2 * time.Millisecond // of a caller, between two calls
)

// A load is the callers of one episode.
type load struct {
	*soak
	keys    []string
	tallies []tally // of each key
	stop    chan struct{}
	wait    sync.WaitGroup

	calls, late, lost, clung atomic.Int64 // lost: calls to a lost shard; clung: those of them that took half of their time
	latest                   atomic.Int64 // the longest time after a deadline, in nanoseconds
}

// A tally is what the callers were told of the INCRBY 1 of one key.
type tally struct{ acknowledged, unknown atomic.Int64 }

func (s *soak) newLoad(keys []string) *load {
	return &load{soak: s, keys: keys, tallies: make([]tally, len(keys)), stop: make(chan struct{})}
}

func (l *load) start(seed uint64) {
	for i := range l.settings.callers {
		c := &caller{load: l, pipeline: pipeline.New(l.client), random: rand.New(rand.NewPCG(seed, uint64(i))), last: make([]int64, len(l.keys))}
		l.wait.Go(c.run)
	}
}

// end lets the callers finish their calls.
func (l *load) end() {
	close(l.stop)
	l.wait.Wait()
}

// A caller sends one pipeline after the other.
type caller struct {
	*load
	pipeline *pipeline.Pipeline
	random   *rand.Rand
	last     []int64 // the total that the caller saw of each key last
}

func (c *caller) run() {
	next := time.NewTicker(pause)
	defer next.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-next.C:
			c.call()
		}
	}
}

// call counts different keys, as two INCRBY of one key could change places if only the first is refused.
func (c *caller) call() {
	p := c.pipeline
	p.Reset()
	picked := c.random.Perm(len(c.keys))[:keysPerCall]
	var replies [2 * keysPerCall]pipeline.Reply
	for i, key := range picked {
		replies[2*i] = p.IncrBy(c.keys[key], 1)
		replies[2*i+1] = p.Expire(c.keys[key], time.Hour)
	}
	lost, began := c.soak.lost.Load(), time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(c.settings.deadline))
	err := p.Do(ctx)
	took := time.Since(began)
	cancel()
	c.calls.Add(1)
	if late := took - c.settings.deadline; late > 0 {
		c.late.Add(1)
		for worst := c.latest.Load(); int64(late) > worst && !c.latest.CompareAndSwap(worst, int64(late)); worst = c.latest.Load() {
		}
	}
	if lost && c.soak.lost.Load() {
		c.load.lost.Add(1)
		if took > c.settings.deadline/2 {
			c.clung.Add(1)
		}
	}
	c.judge(err, picked, replies[:])
}

// judge looks at how each command of a call ended.
func (c *caller) judge(err error, picked []int, replies []pipeline.Reply) {
	failed := false
	for i, r := range replies {
		o := outcomeOf(r.Err())
		failed = failed || o != acknowledged
		if o == impossible {
			c.found("a command ends in none of the four ways: %v", r.Err())
		}
		if i%2 == 0 {
			c.count(picked[i/2], o, r)
		}
	}
	var typed *redislanes.PipelineError
	if (err != nil) != failed || err != nil && !errors.As(err, &typed) {
		c.found("Do returned %v, and a command failed: %t", err, failed)
	}
}

func (c *caller) count(key int, o outcome, incr pipeline.Reply) {
	switch o {
	case unknown, impossible:
		c.tallies[key].unknown.Add(1)
	case acknowledged:
		c.tallies[key].acknowledged.Add(1)
		total, err := incr.Int()
		if err != nil || total <= c.last[key] && c.lossless.Load() {
			c.found("INCRBY of %s: a caller got %d (%v) after %d", c.keys[key], total, err, c.last[key])
		}
		c.last[key] = total
	}
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
