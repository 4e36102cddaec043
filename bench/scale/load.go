package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

const keyTTL = time.Minute

// keys are the names of all keys, made before the clock starts.
var keys = func() (all []string) {
	for i := range 10_000 {
		all = append(all, fmt.Sprintf("limit:user-%05d:minute", i))
	}
	return all
}()

// A used is what a load did and took.
type used struct {
	Requests int64         `json:"requests"`
	Took     time.Duration `json:"took"`
	CPU      time.Duration `json:"cpu"`       // of this process, which is the client's
	LockWait time.Duration `json:"lock_wait"` // of all goroutines, in sync.Mutex and its like
	Mallocs  uint64        `json:"mallocs"`
}

func (u used) rate() float64 { return float64(u.Requests) / u.Took.Seconds() }

func (u used) perRequest(d time.Duration) time.Duration {
	return time.Duration(float64(d) / float64(u.Requests))
}

// run lets callers send requests of so many keys each, for so long.
func run(ctx context.Context, client *cluster.Client, callers, keysEach int, during time.Duration) (used, error) {
	ctx, cancel := context.WithTimeout(ctx, during+time.Minute)
	defer cancel()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, waited, began := usage.CPU(), lockWait(), time.Now()
	counts, errs := make([]int64, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { counts[i], errs[i] = newCaller(client, uint64(i), keysEach).loop(ctx, began.Add(during)) })
	}
	all.Wait()
	u := used{Took: time.Since(began), CPU: usage.CPU() - cpu, LockWait: lockWait() - waited}
	runtime.ReadMemStats(&after)
	u.Mallocs = after.Mallocs - before.Mallocs
	for i, err := range errs {
		if err != nil {
			return u, err
		}
		u.Requests += counts[i]
	}
	return u, nil
}

// A caller is one goroutine's part of a load.
type caller struct {
	pipeline *pipeline.Pipeline
	random   *rand.Rand
	keys     int // of a request
	replies  []pipeline.Reply
}

func newCaller(client *cluster.Client, seed uint64, keys int) *caller {
	return &caller{pipeline: pipeline.New(client), random: rand.New(rand.NewPCG(seed, 0)), keys: keys}
}

// loop sends one request after the other until the end.
func (c *caller) loop(ctx context.Context, end time.Time) (requests int64, err error) {
	for time.Now().Before(end) {
		if err := c.request(ctx); err != nil {
			return requests, err
		}
		requests++
	}
	return requests, nil
}

// request sends one, and checks every reply.
func (c *caller) request(ctx context.Context) error {
	c.pipeline.Reset()
	c.replies = c.replies[:0]
	for range c.keys {
		key := keys[c.random.IntN(len(keys))]
		c.replies = append(c.replies, c.pipeline.IncrBy(key, 1))
		c.pipeline.Expire(key, keyTTL)
	}
	if err := c.pipeline.Do(ctx); err != nil {
		return err
	}
	for _, r := range c.replies {
		if n, err := r.Int(); err != nil || n != 1 {
			return fmt.Errorf("total %d: %w", n, err)
		}
	}
	return nil
}

// lockWait returns how long goroutines have waited for locks so far.
func lockWait() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
