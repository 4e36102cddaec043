package load

import (
	"context"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// Use is how an endpoint's pools were used, and how large this process was.
type Use struct {
	MaxWaiters    int           // batches waiting at a time, on all nodes together
	MaxSaturation float64       // of the node where it was highest, 0 to 1
	Waited        uint64        // batches that had to wait for a connection
	WaitTime      time.Duration // how long, in all
	Dials, Closes uint64        // connections opened and closed
	MaxHeap       uint64        // bytes of objects, those that are garbage among them
	MaxGoroutines int
	Samples       []Sample
}

// A Sample is the state of an endpoint's pools, all nodes together.
type Sample struct {
	At         time.Duration `json:"at_ns"` // since the turn's first phase began
	Open       int           `json:"open"`  // connections
	InUse      int           `json:"in_use"`
	InFlight   int           `json:"in_flight"` // batches
	Waiters    int           `json:"waiters"`
	Saturation float64       `json:"saturation"` // of the node where it was highest
	Heap       uint64        `json:"heap_bytes"` // of objects, those that are garbage among them
	Goroutines int           `json:"goroutines"`
}

func (u *Use) add(other Use) {
	u.MaxWaiters = max(u.MaxWaiters, other.MaxWaiters)
	u.MaxSaturation = max(u.MaxSaturation, other.MaxSaturation)
	u.Waited += other.Waited
	u.WaitTime += other.WaitTime
	u.Dials += other.Dials
	u.Closes += other.Closes
	u.MaxHeap = max(u.MaxHeap, other.MaxHeap)
	u.MaxGoroutines = max(u.MaxGoroutines, other.MaxGoroutines)
	u.Samples = append(u.Samples, other.Samples...)
}

// sampleEvery is rare enough that the snapshots, which allocate, do not show in
// the allocations of a request.
const sampleEvery = 50 * time.Millisecond

// counters of all nodes' pools together.
func counters(s redislanes.Stats) (u Use) {
	for _, n := range s.Nodes {
		u.Waited += n.Pool.WaitCount
		u.WaitTime += n.Pool.WaitTime
		u.Dials += n.Pool.Dials
		for _, closes := range n.Pool.Closes {
			u.Closes += closes
		}
	}
	return u
}

func sampleOf(s redislanes.Stats, at time.Duration) Sample {
	sample := Sample{At: at}
	for _, n := range s.Nodes {
		sample.Open += n.Pool.Open
		sample.InUse += n.Pool.InUse
		sample.InFlight += n.Pool.InFlight()
		sample.Waiters += n.Pool.Waiters
		sample.Saturation = max(sample.Saturation, n.Pool.Saturation())
	}
	return sample
}

// watch samples the pools and this process until the context ends.
func watch(ctx context.Context, client *cluster.Client, origin time.Time) (u Use) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	state := newProcessState()
	for {
		s := sampleOf(client.Stats(), time.Since(origin))
		s.Heap, s.Goroutines = state.read()
		u.Samples = append(u.Samples, s)
		u.MaxWaiters = max(u.MaxWaiters, s.Waiters)
		u.MaxSaturation = max(u.MaxSaturation, s.Saturation)
		u.MaxHeap, u.MaxGoroutines = max(u.MaxHeap, s.Heap), max(u.MaxGoroutines, s.Goroutines)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return u
		}
	}
}
