package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

const (
	keyTTL = time.Minute

	// warmUpRequests, shared out among the callers, make sure that every node was
	// used. No caller sends more than warmUpEach.
	warmUpRequests = 5000
	warmUpEach     = 50
	warmUpTimeout  = 2 * time.Minute
)

// A load is callers that send the requests of a scenario.
type load struct {
	client  *cluster.Client
	callers []*caller
	share   int // requests that each caller sends before the clock starts
}

func newLoad(client *cluster.Client, s scenario, keys keySet, callers int) *load {
	return newLoadSent(pipeline.Config{}, client, s, keys, callers)
}

// newLoadSent is newLoad for pipelines that are sent in a way of their own.
func newLoadSent(how pipeline.Config, client *cluster.Client, s scenario, keys keySet, callers int) *load {
	l := &load{client: client, callers: make([]*caller, callers), share: min(warmUpEach, warmUpRequests/callers+1)}
	for i := range l.callers {
		l.callers[i] = &caller{
			scenario: s, all: keys, pipeline: how.New(client),
			// A seed for each caller makes runs alike.
			random: rand.New(rand.NewPCG(uint64(i), 0)),
			keys:   make([]string, 0, s.keysPerRequest()),
			totals: make([]pipeline.Reply, 0, s.keysPerRequest()),
		}
	}
	return l
}

// A caller is one goroutine's part of a load.
type caller struct {
	scenario scenario
	all      keySet
	pipeline *pipeline.Pipeline
	random   *rand.Rand

	keys   []string         // of the request
	totals []pipeline.Reply // of the request
}

// request sends one request and checks every reply.
func (c *caller) request(ctx context.Context) error {
	c.keys = c.scenario.appendKeys(c.keys[:0], c.all, c.random)
	c.totals = c.totals[:0]
	c.pipeline.Reset()
	for _, key := range c.keys {
		c.totals = append(c.totals, c.pipeline.IncrBy(key, 1))
		c.pipeline.Expire(key, keyTTL)
	}
	if err := c.pipeline.Do(ctx); err != nil {
		return err
	}
	for i, r := range c.totals {
		switch total, err := r.Int(); {
		case err != nil:
			return err
		case total < 1:
			return fmt.Errorf("total of %s after INCRBY 1: %d", c.keys[i], total)
		}
	}
	return nil
}

// warmUp lets each caller send requests and waits until the pools that they
// use are connected.
func (l *load) warmUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpTimeout)
	defer cancel()
	if err := l.each(ctx, func(ctx context.Context, c *caller) error {
		for range l.share {
			if err := c.request(ctx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !l.connected() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("warm-up: pools not connected: %w", ctx.Err())
		}
	}
	return nil
}

func (l *load) connected() bool {
	for _, n := range l.client.Stats().Nodes {
		if !settled(n.Pool) {
			return false
		}
	}
	return true
}

// settled reports whether the pool has the connections that it wants.
func settled(s redislanes.PoolStats) bool {
	return s.Open >= s.Size || s.Kind == "adaptive" && s.Open > 0
}

// run sends n requests, shared out among the callers as they get to them, and
// notes every stride-th latency: that of request i*stride at index i.
func (l *load) run(ctx context.Context, n int, latencies []time.Duration, stride int) error {
	var taken atomic.Int64
	return l.each(ctx, func(ctx context.Context, c *caller) error {
		began := time.Now()
		for {
			i := int(taken.Add(1)) - 1
			if i >= n {
				return nil
			}
			if err := c.request(ctx); err != nil {
				return err
			}
			ended := time.Now()
			if i%stride == 0 {
				latencies[i/stride] = ended.Sub(began)
			}
			began = ended
		}
	})
}

// each runs f for all callers at once. The first error stops the others and is
// returned.
func (l *load) each(ctx context.Context, f func(context.Context, *caller) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for _, c := range l.callers {
		wg.Go(func() {
			if err := f(ctx, c); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
