package main

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/redislanes/redislanes/cluster"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// names are those of all keys.
var names = keys.NewSet("limit:")

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

// run lets n callers send requests of so many keys each, for so long.
func run(ctx context.Context, client *cluster.Client, n, keysEach int, during time.Duration) (used, error) {
	waited := lockWait()
	r, err := closed.Run(ctx, callers(client, n, keysEach), during)
	return used{r.Requests, r.Took, r.CPU, lockWait() - waited, r.Mallocs}, err
}

// callers returns n callers, whose requests have so many keys.
func callers(client *cluster.Client, n, keysEach int) []func(context.Context) error {
	return keys.Scenario{Variable: keysEach}.Callers(client, names, n)
}

// lockWait returns how long goroutines have waited for locks so far.
func lockWait() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
