package main

import (
	"context"
	"math/rand/v2"
	"runtime/metrics"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// names are those of all keys.
var names = keys.Many("limit:", 10_000)

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
	requests := make([]func(context.Context) error, callers)
	for i := range requests {
		requests[i] = newCaller(client, uint64(i), keysEach).request
	}
	waited := lockWait()
	r, err := closed.Run(ctx, requests, during)
	return used{r.Requests, r.Took, r.CPU, lockWait() - waited, r.Mallocs}, err
}

// A caller is one goroutine's part of a load.
type caller struct {
	counter keys.Counter
	random  *rand.Rand
	keys    []string // of a request
}

func newCaller(client *cluster.Client, seed uint64, n int) *caller {
	return &caller{keys.Counter{Pipeline: pipeline.New(client)}, rand.New(rand.NewPCG(seed, 0)), make([]string, n)}
}

// request sends one, and checks every reply.
func (c *caller) request(ctx context.Context) error {
	for i := range c.keys {
		c.keys[i] = names[c.random.IntN(len(names))]
	}
	return c.counter.Count(ctx, c.keys)
}

// lockWait returns how long goroutines have waited for locks so far.
func lockWait() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
