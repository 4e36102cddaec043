package load

import (
	"context"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// Use is how an endpoint's pools were used.
type Use struct {
	MaxWaiters    int     // batches waiting at a time, on all nodes together
	MaxSaturation float64 // of the node where it was highest, 0 to 1
	Waited        uint64  // batches that had to wait for a connection
	Dials, Closes uint64  // connections opened and closed
	Samples       []Sample
}

// A Sample is how many connections are open, to all nodes together.
type Sample struct {
	At   time.Duration `json:"at_ns"` // since the turn's first phase began
	Open int           `json:"open"`
}

func (u *Use) add(other Use) {
	u.MaxWaiters = max(u.MaxWaiters, other.MaxWaiters)
	u.MaxSaturation = max(u.MaxSaturation, other.MaxSaturation)
	u.Waited += other.Waited
	u.Dials += other.Dials
	u.Closes += other.Closes
	u.Samples = append(u.Samples, other.Samples...)
}

// sampleEvery is rare enough that the snapshots, which allocate, do not show in
// the allocations of a request.
const sampleEvery = 50 * time.Millisecond

// count adds the counters of all nodes' pools, each so many times.
func (u *Use) count(s redislanes.Stats, times int64) {
	for _, n := range s.Nodes {
		u.Waited += uint64(times) * n.Pool.WaitCount
		u.Dials += uint64(times) * n.Pool.Dials
		for _, closes := range n.Pool.Closes {
			u.Closes += uint64(times) * closes
		}
	}
}

// watch samples the pools until the context ends.
func (u *Use) watch(ctx context.Context, client *cluster.Client, origin time.Time) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		sample, waiters := Sample{At: time.Since(origin)}, 0
		for _, n := range client.Stats().Nodes {
			sample.Open += n.Pool.Open
			waiters += n.Pool.Waiters
			u.MaxSaturation = max(u.MaxSaturation, n.Pool.Saturation())
		}
		u.MaxWaiters = max(u.MaxWaiters, waiters)
		u.Samples = append(u.Samples, sample)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
