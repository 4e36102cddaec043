package sizing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/sizing"
)

func TestRecommendedSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		callers, pipelines int
		efficiency         float64
		want               int
	}{
		{100, 2, 2, 100}, {100, 6, 2, 300}, {500, 4, 2.5, 800},
		{1, 1, 3, 1}, {10, 1, 3, 4}, {0, 0, 0, 1}, {-5, 3, -1, 3}, {math.MaxInt, 1 << 20, 1, 1<<31 - 1},
		{100, 1, math.NaN(), 100}, {100, 1, math.Inf(1), 1}, {100, 1, 1e-300, 1<<31 - 1},
	} {
		require.Equal(t, c.want, sizing.RecommendedSize(c.callers, c.pipelines, c.efficiency), "%+v", c)
	}
}

func TestRecommendedLanes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		callers     int
		priority    sizing.Priority
		least, most int
	}{
		{-1, sizing.Throughput, 4, 4}, {0, sizing.Throughput, 4, 4}, {9, sizing.Throughput, 4, 4},
		{10, sizing.Throughput, 4, 8}, {99, sizing.Throughput, 4, 8},
		{100, sizing.Throughput, 8, 16}, {499, sizing.Throughput, 8, 16},
		{500, sizing.Throughput, 16, 32}, {math.MaxInt, sizing.Throughput, 16, 32},
		{1, sizing.Latency, 8, 8}, {5000, sizing.Latency, 8, 8},
		{1, sizing.Memory, 4, 4}, {5000, sizing.Memory, 4, 4},
		{50, sizing.Priority(99), 4, 8},
	} {
		least, most := sizing.RecommendedLanes(c.callers, c.priority)
		require.Equal(t, []int{c.least, c.most}, []int{least, most}, "%+v", c)
	}
}

// TestErlangC compares the share of trips that wait with published values and with the formula written out.
func TestErlangC(t *testing.T) {
	t.Parallel()
	share := func(size int, load float64) float64 { // the mean wait of all trips, by that of those that wait
		return sizing.ExpectedWait(load, time.Second, size).Seconds() * (float64(size) - load)
	}
	for _, c := range []struct {
		size int
		load float64
		want float64
	}{
		{1, 0.5, 0.5}, {2, 1, 1.0 / 3}, {3, 2, 4.0 / 9}, {10, 8, 0.40918}, {5, 0, 0},
	} {
		require.InDelta(t, c.want, share(c.size, c.load), 1e-5, "%+v", c)
	}
	for size := 1; size <= 60; size++ {
		for _, rho := range []float64{0.01, 0.3, 0.7, 0.95, 0.999} {
			load := rho * float64(size)
			require.InDelta(t, erlangCByTheBook(size, load), share(size, load), 1e-6, "%d, %v", size, load)
		}
	}
}

// erlangCByTheBook is a^c/c! · c/(c−a) over itself plus the sum of a^k/k!.
func erlangCByTheBook(size int, load float64) float64 {
	term, sum := 1.0, 0.0
	for k := range size {
		sum += term
		term *= load / float64(k+1)
	}
	wait := term * float64(size) / (float64(size) - load)
	return wait / (sum + wait)
}

// TestExpectedWaitOfASimulatedQueue holds the model to a queue that is played
// through, with exponential times from a fixed seed.
func TestExpectedWaitOfASimulatedQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size int
		rate float64 // trips of 1 s take c.size·ρ
	}{{1, 0.5}, {2, 1.4}, {5, 4}, {10, 7}} {
		model := sizing.ExpectedWait(c.rate, time.Second, c.size).Seconds()
		random := rand.New(rand.NewPCG(1, uint64(c.size)))
		require.InEpsilon(t, simulate(c.size, random.ExpFloat64, random.ExpFloat64, c.rate), model, 0.05, "%+v", c)
		same := func() float64 { return 1 }
		half := simulate(c.size, random.ExpFloat64, same, c.rate)
		require.InDelta(t, 0.5, half/model, 0.12, "trips of the same time: about half of the model's wait, %+v", c)
	}
}

// simulate returns the mean wait of 400,000 trips, which begin at the rate and
// take as long as trip says.
func simulate(size int, gap, trip func() float64, rate float64) float64 {
	const trips = 400_000
	free := make([]float64, size) // when each connection is free again
	now, waited := 0.0, 0.0
	for range trips {
		now += gap() / rate
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		start := math.Max(now, free[first])
		waited += start - now
		free[first] = start + trip()
	}
	return waited / trips
}

// TestClosedLoop plays callers in a closed loop through, with trips that all
// take the same time: then the bound is what they reach.
func TestClosedLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		callers, size int
		trip, think   time.Duration
		rate          float64
		wait          time.Duration
	}{
		{100, 10, time.Millisecond, 0, 10_000, 9 * time.Millisecond},
		{100, 50, time.Millisecond, 0, 50_000, time.Millisecond},
		{100, 100, time.Millisecond, 0, 100_000, 0},
		{100, 200, time.Millisecond, 0, 100_000, 0},
		{100, 10, time.Millisecond, 9 * time.Millisecond, 10_000, 0},
		{100, 5, time.Millisecond, 9 * time.Millisecond, 5_000, 10 * time.Millisecond},
		{0, 5, time.Millisecond, 0, 0, 0},
		{-7, 5, time.Millisecond, 0, 0, 0},
		{3, 0, time.Second, 0, 1, 2 * time.Second},
		{3, 5, 0, time.Second, 3, 0},
		{3, 5, 0, 0, math.MaxFloat64, 0},
		{3, 5, -time.Second, -time.Second, math.MaxFloat64, 0},
	} {
		require.InEpsilon(t, c.rate+1, sizing.ClosedThroughput(c.callers, c.size, c.trip, c.think)+1, 1e-9, "%+v", c)
		require.Equal(t, c.wait, sizing.ClosedWait(c.callers, c.size, c.trip, c.think), "%+v", c)
	}
}

func TestQueueWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		waiting, size int
		trip, want    time.Duration
	}{
		{90, 10, time.Millisecond, 9 * time.Millisecond}, {1, 10, time.Millisecond, 100 * time.Microsecond},
		{0, 10, time.Second, 0}, {-1, 10, time.Second, 0}, {5, 0, time.Second, 5 * time.Second},
		{5, 1, -time.Second, 0}, {math.MaxInt, 1, time.Hour, sizing.Forever},
	} {
		require.Equal(t, c.want, sizing.QueueWait(c.waiting, c.size, c.trip), "%+v", c)
	}
}

func TestLittlesLaw(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 24, sizing.RequestsInFlight(12_000, 2*time.Millisecond), 1e-9)
	require.InDelta(t, 0.48, sizing.Utilization(12_000, 2*time.Millisecond, 50), 1e-9)
	require.InDelta(t, 24, sizing.Utilization(12_000, 2*time.Millisecond, -1), 1e-9)
	for _, rate := range []float64{-1, math.NaN(), math.Inf(-1)} {
		require.Zero(t, sizing.RequestsInFlight(rate, time.Second))
	}
	require.Zero(t, sizing.RequestsInFlight(5, -time.Second))
	require.Equal(t, math.MaxFloat64, sizing.RequestsInFlight(math.Inf(1), time.Hour))
}

func TestCollisions(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.5073, sizing.CollisionProbability(23, 365), 1e-4, "the birthday problem itself")
	require.InDelta(t, 1-4.0*3*2*1/256, sizing.CollisionProbability(4, 4), 1e-12)
	for _, lanes := range []int{1, 2, 4, 8, 16, 32, 64, 1000} {
		exact := 0.0
		for batches := range lanes + 2 {
			p := sizing.CollisionProbability(batches, lanes)
			require.GreaterOrEqual(t, p, exact, "more batches collide more often")
			exact = p
		}
		require.Equal(t, 1.0, exact, "more batches than lanes")
	}
	for _, few := range []int{-1, 0, 1} {
		require.Zero(t, sizing.CollisionProbability(few, 4))
	}
	require.Equal(t, 1.0, sizing.CollisionProbability(2, -1))
	require.InDelta(t, sizing.CollisionProbability(1000, 1<<20), sizing.CollisionProbability(1000, math.MaxInt), 0)
}

func TestBlockedShare(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.1, sizing.BlockedShare(10, 10*time.Millisecond, 1), 1e-12)
	require.InDelta(t, 0.025, sizing.BlockedShare(10, 10*time.Millisecond, 4), 1e-12)
	require.Equal(t, 1.0, sizing.BlockedShare(1000, 10*time.Millisecond, 4), "more than the lanes carry")
	require.InDelta(t, 0.1, sizing.BlockedShare(10, 10*time.Millisecond, -1), 1e-12)
	for _, rate := range []float64{0, -1, math.NaN()} {
		require.Zero(t, sizing.BlockedShare(rate, time.Second, 4))
	}
	require.Zero(t, sizing.BlockedShare(10, -time.Second, 4))
	require.InDelta(t, simulatedBlocking(20, 0.01, 4), sizing.BlockedShare(20, 10*time.Millisecond, 4), 0.01)
}

// simulatedBlocking lets slow requests come by chance to lanes in turn, and a hundred
// times as many looks by chance at lanes by chance: how many meet a slow one?
func simulatedBlocking(rate, slow float64, lanes int) float64 {
	const looksForEach, slowOnes = 100, 20_000
	random := rand.New(rand.NewPCG(1, 2))
	free := make([]float64, lanes) // from when on
	met, looks, next := 0, 0, 0
	for at := 0.0; next < slowOnes; at += random.ExpFloat64() / (rate * (1 + looksForEach)) {
		if random.IntN(1+looksForEach) == 0 {
			free[next%lanes] = max(free[next%lanes], at) + slow
			next++
			continue
		}
		looks++
		if at < free[random.IntN(lanes)] {
			met++
		}
	}
	return float64(met) / float64(looks)
}

// FuzzSizing: whatever goes in, what comes out can be used.
func FuzzSizing(f *testing.F) {
	f.Add(100, 10, 2.0, int64(time.Millisecond), int64(0))
	f.Add(math.MaxInt, math.MaxInt, math.Inf(1), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(math.MinInt, math.MinInt, math.NaN(), int64(math.MinInt64), int64(math.MinInt64))
	f.Add(math.MaxInt, 1<<20, math.MaxFloat64, int64(1), int64(1))
	f.Fuzz(func(t *testing.T, a, b int, x float64, trip, think int64) {
		z, s := time.Duration(think), time.Duration(trip)
		size := sizing.RecommendedSize(a, b, x)
		require.True(t, size >= 1 && size <= math.MaxInt32, size)
		least, most := sizing.RecommendedLanes(a, sizing.Priority(b))
		require.True(t, least >= 4 && most >= least && most <= 32)
		for _, p := range []float64{sizing.CollisionProbability(a, b), sizing.BlockedShare(x, s, b)} {
			require.True(t, p >= 0 && p <= 1, p)
		}
		for _, n := range []float64{sizing.RequestsInFlight(x, s), sizing.Utilization(x, s, b), sizing.ClosedThroughput(a, b, s, z)} {
			require.True(t, n >= 0 && n <= math.MaxFloat64, n)
		}
		for _, d := range []time.Duration{sizing.QueueWait(a, b, s), sizing.ExpectedWait(x, s, b), sizing.ClosedWait(a, b, s, z)} {
			require.GreaterOrEqual(t, d, time.Duration(0))
		}
		require.GreaterOrEqual(t, sizing.ExpectedWait(x, s, b), sizing.ExpectedWait(x/2, s, b), "less load, no longer wait")
	})
}

// 500 callers, each of which sends to 4 nodes at a time.
func ExampleRecommendedSize() {
	fmt.Println(sizing.RecommendedSize(500, 4, 2.5))
	// Output: 800
}

func ExampleRecommendedLanes() {
	least, most := sizing.RecommendedLanes(200, sizing.Throughput)
	fmt.Println(least, most)
	// Output: 8 16
}

// 100 callers that do nothing but send, over 10 and over 50 connections with a
// trip of 1 ms.
func ExampleClosedThroughput() {
	for _, size := range []int{10, 50} {
		fmt.Printf("%d: %.0f trips a second, %v in the queue\n", size,
			sizing.ClosedThroughput(100, size, time.Millisecond, 0), sizing.ClosedWait(100, size, time.Millisecond, 0))
	}
	// Output:
	// 10: 10000 trips a second, 9ms in the queue
	// 50: 50000 trips a second, 1ms in the queue
}

// 8,000 requests a second to a node whose trips take 1 ms need 8 connections on
// average; how many more make the wait short?
func ExampleExpectedWait() {
	for _, size := range []int{8, 9, 10, 12, 16} {
		switch wait := sizing.ExpectedWait(8000, time.Millisecond, size); wait {
		case sizing.Forever:
			fmt.Println(size, "the queue grows without end")
		default:
			fmt.Println(size, wait.Round(time.Microsecond))
		}
	}
	// Output:
	// 8 the queue grows without end
	// 9 653µs
	// 10 205µs
	// 12 35µs
	// 16 1µs
}

// Five batches on 16 lanes that are chosen by chance.
func ExampleCollisionProbability() {
	fmt.Printf("%.3f\n", sizing.CollisionProbability(5, 16))
	// Output: 0.500
}

// One request in a hundred of 1,000 a second has a reply that takes 10 ms: how many
// find one before them?
func ExampleBlockedShare() {
	fmt.Printf("one lane: %.3f\n", sizing.BlockedShare(10, 10*time.Millisecond, 1))
	fmt.Printf("four:     %.3f\n", sizing.BlockedShare(10, 10*time.Millisecond, 4))
	// Output:
	// one lane: 0.100
	// four:     0.025
}
