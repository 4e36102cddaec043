package main

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	xrate "golang.org/x/time/rate"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit"
)

// BenchmarkLocal compares a decision by a lease, which all processes share, with one of a limiter that knows
// this process only: x/time/rate, with the limiters of keys in a sync.Map. Each goroutine has a key of its own.
// The time is that of one decision of a goroutine, so that it stays the same if goroutines do not hinder each other.
func BenchmarkLocal(b *testing.B) {
	for _, goroutines := range []int{1, 2} {
		keys := make([]string, goroutines)
		for i := range keys {
			keys[i] = fmt.Sprint("user", i)
		}
		b.Run(fmt.Sprintf("goroutines=%d/limiter=lease", goroutines), func(b *testing.B) {
			allow := leased(b)
			decideLocally(b, keys, allow)
		})
		b.Run(fmt.Sprintf("goroutines=%d/limiter=x_time_rate", goroutines), func(b *testing.B) {
			var limiters sync.Map
			decideLocally(b, keys, func(key string) bool {
				of, ok := limiters.Load(key)
				if !ok {
					of, _ = limiters.LoadOrStore(key, xrate.NewLimiter(1e9, 1e9))
				}
				return of.(*xrate.Limiter).Allow()
			})
		})
	}
}

// leased returns a limiter's decision on a key, once it has leases that last.
func leased(b *testing.B) func(key string) bool {
	real := servers.StartCluster(b, servers.Options{Primaries: 3})
	client, err := cluster.Config{}.New(b.Context(), real.Addrs())
	require.NoError(b, err)
	b.Cleanup(func() { _ = client.Close() })
	limiter, err := limit.New(client)
	require.NoError(b, err)
	b.Cleanup(func() { _ = limiter.Close() })
	of, err := limit.Rule{Name: "local", Quota: 1e12, Window: 24 * time.Hour}.New(limiter)
	require.NoError(b, err)
	return func(key string) bool {
		return limiter.Allow(b.Context(), limit.Request{Limit: of, Key: key}).Allowed
	}
}

func decideLocally(b *testing.B, keys []string, allow func(key string) bool) {
	for _, key := range keys { // until the lease has the size that the load needs
		for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until); {
			allow(key)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for _, key := range keys {
		all.Go(func() {
			for range b.N {
				if !allow(key) {
					b.Error("a decision is not allowed")
					return
				}
			}
		})
	}
	all.Wait()
}
