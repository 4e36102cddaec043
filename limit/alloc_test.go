package limit

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
)

// TestDecisionAllocatesItsResult gates the hot path: a call of one limit that is allowed allocates
// nothing, and one of five on three nodes its decisions, whether Redis decides or leases do. If Redis is asked, a
// sliding window allocates once more, a bucket, too, and INCREX three times.
func TestDecisionAllocatesItsResult(t *testing.T) {
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	testAllocations(t, addrs, true, []Algorithm{FixedWindow, FixedWindow, FixedWindow, SlidingWindow, SlidingWindow})
	testAllocations(t, addrs, true, []Algorithm{TokenBucket, TokenBucket, TokenBucket, TokenBucket, TokenBucket})
	testAllocations(t, addrs, false, []Algorithm{TokenBucket, FixedWindow, FixedWindow, SlidingWindow, TokenBucket})
}

// testAllocations is TestDecisionAllocatesItsResult for calls of the first limit, and of all five.
func testAllocations(t *testing.T, addrs []string, noLease bool, algorithms []Algorithm) {
	client, err := cluster.Config{}.New(t.Context(), addrs)
	require.NoError(t, err)
	defer client.Close()
	l, err := Config{Budget: time.Hour, Observer: quiet{}}.New(client)
	require.NoError(t, err)
	defer l.Close()
	increx := client.Cmd(t.Context(), "INCREX", "missing", "BYINT", 1, "UBOUND", 0).Err() == nil
	tags := []string{"{b}", "{a}", "{c}", "{d}", "{e}"}
	nodes := make(map[string]bool)
	for _, tag := range tags {
		nodes[client.Primary(cluster.Slot(tag))] = true
	}
	require.Len(t, nodes, 3)
	var requests []Request
	for i, a := range algorithms {
		of, err := Rule{Name: fmt.Sprint("n", i), Quota: 1_000_000_000, Window: time.Hour, Algorithm: a, NoLease: noLease}.New(l)
		require.NoError(t, err)
		requests = append(requests, Request{Limit: of, Key: tags[i] + "user"})
	}
	sooner, cancel := context.WithTimeout(t.Context(), 50*time.Minute)
	defer cancel()
	cancellable, leave := context.WithCancel(t.Context())
	defer leave()
	for name, ctx := range map[string]context.Context{
		"without an end": context.Background(), "that ends sooner": sooner, "that can be cancelled": cancellable,
	} {
		for _, n := range []int{1, 5} {
			t.Run(fmt.Sprint(n, " limits, without leases: ", noLease, ", ", algorithms[0], ", a context ", name), func(t *testing.T) {
				leased := 0
				decide := func() {
					r := l.Allow(ctx, requests[:n]...)
					if !r.Allowed || r.Err != nil {
						t.Fatal(r.Err)
					}
					if r.Leased {
						leased++
					}
				}
				for range 300 {
					decide()
				}
				leased = 0
				most := 0.0
				if n > 1 {
					most = 1
				}
				for _, r := range requests[:n] {
					if noLease && increx && r.Limit.rule.Algorithm != TokenBucket {
						most += 3
					}
					if noLease {
						most += map[Algorithm]float64{SlidingWindow: 1, TokenBucket: 1}[r.Limit.rule.Algorithm]
					}
				}
				if race.Enabled {
					most += 100
				}
				require.LessOrEqual(t, servers.LeastAllocs(500, most, decide), most)
				if !noLease {
					require.Greater(t, leased, 250, "most of 501 calls")
				}
			})
		}
	}
}

// A quiet observer does nothing with what it is told.
type quiet struct{}

func (quiet) Decided(time.Duration, []Request, Result) {}
func (quiet) Hits(*Limit, string, int64)               {}

// TestMemoryOfAKey gates what the limiter remembers of a key of 36 bytes. docs/limits.md has the figures.
func TestMemoryOfAKey(t *testing.T) {
	const keys, most = 20_000, 700
	heap := func() (bytes float64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		of, err := Rule{Name: "minute", Quota: 100, Window: time.Hour, Algorithm: algorithm}.New(&Limiter{cfg: Config{Prefix: defaultPrefix}})
		require.NoError(t, err)
		before := heap()
		known := newCounts(2*keys, func(*count) {})
		for i := range keys {
			known.of(of, fmt.Sprintf("%036d", i)).roll(of.windowAt(time.Now()), 0)
		}
		bytes := (heap() - before) / keys
		runtime.KeepAlive(known)
		t.Logf("%v: %.0f bytes", algorithm, bytes)
		require.LessOrEqual(t, bytes, float64(most), algorithm)
	}
}
