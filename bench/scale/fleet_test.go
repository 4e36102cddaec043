package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFleetIsAClosedLoopOnceItMerges: where hits wait behind every INCRBY, each instance
// is one customer of a closed network, whose throughput is the smaller of instances by
// trip and what the node can do.
func TestFleetIsAClosedLoopOnceItMerges(t *testing.T) {
	const trip, service = time.Millisecond, 10 * time.Microsecond
	const seconds = 0.1
	for _, instances := range []int{1, 10, 50, 200} {
		r := fleet{instances, 20_000, trip, service}.simulate(time.Duration(seconds*float64(time.Second)), 1)
		want := min(float64(instances)/(trip+service).Seconds(), 1/service.Seconds())
		require.InEpsilon(t, want*seconds, float64(r.Flights), 0.02, instances)
		require.InEpsilon(t, float64(instances)*20_000*seconds, float64(r.Hits), 0.05, instances)
		require.LessOrEqual(t, r.P50, r.P99)
	}
}

// TestFleetWithoutMerging: where an INCRBY is back long before the next hit, each hit has
// its own, and waits for nothing but its trip.
func TestFleetWithoutMerging(t *testing.T) {
	r := fleet{100, 10, time.Millisecond, time.Microsecond}.simulate(20*time.Second, 1)
	require.InEpsilon(t, 100*10*20, float64(r.Hits), 0.05)
	require.InEpsilon(t, float64(r.Hits), float64(r.Flights), 0.02)
	require.InDelta(t, 1.0, r.P50.Seconds()*1000, 0.01)
	require.InDelta(t, float64(r.Flights)*1e-6/20, r.Busy, 1e-9)
}

// TestFleetBesideEachOther: an instance whose hits come two a trip does not let them wait.
func TestFleetBesideEachOther(t *testing.T) {
	r := fleet{10, 2000, time.Millisecond, time.Microsecond}.simulate(5*time.Second, 1)
	require.InEpsilon(t, 10*2000*5, float64(r.Hits), 0.02)
	require.InEpsilon(t, float64(r.Hits), float64(r.Flights), 0.02)
	require.InDelta(t, 1.0, r.P99.Seconds()*1000, 0.05)
}
