package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

const (
	manyCallers  = 100
	maxLatencies = 1 << 22 // that are kept
)

// BenchmarkScenario is every scenario over every pool with 100 callers.
func BenchmarkScenario(b *testing.B) { benchmarkAll(b, sharedTarget(b), manyCallers) }

// BenchmarkSingleCaller is every scenario over every pool with one caller.
func BenchmarkSingleCaller(b *testing.B) { benchmarkAll(b, sharedTarget(b), 1) }

// BenchmarkTLS is every scenario over every pool with 100 callers, over TLS. It needs
// a redis-server of its own.
func BenchmarkTLS(b *testing.B) {
	started := servers.StartCluster(b, servers.Options{TLS: true})
	benchmarkAll(b, target{addrs: started.Addrs(), dialer: lanes.Dialer{TLS: started.TLSConfig()}}, manyCallers)
}

func benchmarkAll(b *testing.B, target target, callers int) {
	// Names of their own for each run, so that one does not meet another's
	// keys; as long as users' are.
	keys := newKeySet(fmt.Sprintf("bench:%x:", time.Now().UnixNano()), variableKeys)
	for _, s := range scenarios {
		b.Run(s.name, func(b *testing.B) {
			for _, p := range pools {
				b.Run(p.name, func(b *testing.B) {
					client := newClient(b, target, p.config)
					measure(b, newLoad(client, s, keys, callers))
				})
			}
		})
	}
}

func newClient(tb testing.TB, t target, p pool.Config) *cluster.Client {
	tb.Helper()
	client, err := cluster.Config{Pool: p, Dialer: t.dialer}.New(tb.Context(), t.addrs)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func measure(b *testing.B, l *load) {
	if err := l.warmUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	stride := 1 + (b.N-1)/maxLatencies
	latencies := make([]time.Duration, 1+(b.N-1)/stride)

	b.ReportAllocs()
	b.ResetTimer()
	cpu := usage.CPU()
	err := l.run(b.Context(), b.N, latencies, stride)
	cpu = usage.CPU() - cpu
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}

	slices.Sort(latencies)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(float64(percentile(latencies, 50)), "p50-ns")
	b.ReportMetric(float64(percentile(latencies, 99)), "p99-ns")
	b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/req")
}

// percentile returns the smallest value that at least percent of 100 of the
// sorted values do not exceed (the nearest rank).
func percentile(sorted []time.Duration, percent int) time.Duration {
	rank := (len(sorted)*percent + 99) / 100
	return sorted[max(rank, 1)-1]
}

// BenchmarkPipelineAppend appends INCRBY and EXPIRE for ten keys, 20 commands,
// to a pipeline that is used again.
func BenchmarkPipelineAppend(b *testing.B) {
	keys := newKeySet("bench:append:", 10).variable
	// Appending needs no node: no server is asked once there is a client.
	client, err := cluster.Config{RefreshEvery: -1}.New(b.Context(), redistest.StartEmulated(b, 1).Addrs())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	p := pipeline.New(client)
	b.ReportAllocs()
	for b.Loop() {
		p.Reset()
		for _, key := range keys {
			p.IncrBy(key, 1)
			p.Expire(key, keyTTL)
		}
	}
	if p.Len() != 2*len(keys) {
		b.Fatalf("%d commands, want %d", p.Len(), 2*len(keys))
	}
}
