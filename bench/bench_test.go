package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

const manyCallers = 100

// pools are compared. The adaptive one spans the sizes of the fixed ones.
var pools = []setting{
	{"fixed-10", pool.Fixed{Size: 10}}, {"fixed-50", pool.Fixed{Size: 50}}, {"fixed-100", pool.Fixed{Size: 100}},
	{"adaptive", pool.Adaptive{Min: 10, Max: 100}},
	{"laned-1", pool.Laned{Lanes: 1}}, {"laned-4", pool.Laned{Lanes: 4}}, {"laned-8", pool.Laned{Lanes: 8}},
}

// BenchmarkScenario is every scenario over every pool with 100 callers.
func BenchmarkScenario(b *testing.B) { benchmarkAll(b, started(b), manyCallers) }

// BenchmarkSingleCaller is every scenario over every pool with one caller.
func BenchmarkSingleCaller(b *testing.B) { benchmarkAll(b, started(b), 1) }

// BenchmarkTLS is every scenario over every pool with 100 callers, over TLS. It needs
// a redis-server of its own.
func BenchmarkTLS(b *testing.B) {
	c := servers.StartCluster(b, servers.Options{Primaries: 3, TLS: true})
	benchmarkAll(b, target{addrs: c.Addrs(), dialer: lanes.Dialer{TLS: c.TLSConfig()}}, manyCallers)
}

func benchmarkAll(b *testing.B, target target, callers int) {
	all := newKeySet()
	for _, s := range scenarios {
		b.Run(s.name, func(b *testing.B) {
			for _, p := range pools {
				b.Run("pool="+p.name, func(b *testing.B) { measure(b, newLoad(newClient(b, target, p.pool), s, all, callers)) })
			}
		})
	}
}

// BenchmarkPoolSize is mixed_10keys by the size of the pool, over a round trip of 5 ms: on
// loopback a size says nothing.
func BenchmarkPoolSize(b *testing.B) {
	inTurns(b, "pool", pools[:4], 6, []int{manyCallers}, 5*time.Millisecond)
}

// BenchmarkLanes is mixed_10keys by the strategy that chooses a lane, over a round trip of 1 ms.
func BenchmarkLanes(b *testing.B) {
	inTurns(b, "lanes", []setting{
		{"1", pool.Laned{Lanes: 1}}, {"4-first-fit", pool.Laned{}}, {"4-round-robin", pool.Laned{Strategy: lanes.RoundRobin}},
		{"4-least-used", pool.Laned{Strategy: lanes.LeastUsed}}, {"4-power-of-two", pool.Laned{Strategy: lanes.PowerOfTwo}},
		{"4-affinity", pool.Laned{Strategy: lanes.Affinity}},
	}, 2, []int{manyCallers}, time.Millisecond)
}

// inTurns measures the settings one after the other, again and again, so that what the machine
// does meanwhile meets all of them. benchstat -ignore /turn takes the turns together.
func inTurns(b *testing.B, key string, settings []setting, turns int, callers []int, trip time.Duration) {
	target, all := started(b).over(b, trip), newKeySet()
	clients := make([]*cluster.Client, len(settings))
	for i, s := range settings {
		clients[i] = newClient(b, target, s.pool)
	}
	for _, n := range callers {
		for turn := range turns {
			for i, s := range settings {
				b.Run(fmt.Sprintf("callers=%d/%s=%s/turn=%d", n, key, s.name, turn), func(b *testing.B) {
					measure(b, newLoad(clients[i], mixed, all, n))
				})
			}
		}
	}
}

func newClient(tb testing.TB, t target, p pool.Config) *cluster.Client {
	return newClientOf(tb, t, cluster.Config{Pool: p})
}

func newClientOf(tb testing.TB, t target, c cluster.Config) *cluster.Client {
	tb.Helper()
	c.Dialer = t.dialer
	client, err := c.New(tb.Context(), t.addrs)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// BenchmarkPipelineAppend appends INCRBY and EXPIRE for ten keys, 20 commands,
// to a pipeline that is used again.
func BenchmarkPipelineAppend(b *testing.B) {
	names := keys.Many("bench:append:", 10)
	// Appending needs no node: no server is asked once there is a client.
	client := newClientOf(b, target{addrs: redistest.StartEmulated(b, 1).Addrs()}, cluster.Config{RefreshEvery: -1})
	p := pipeline.New(client)
	b.ReportAllocs()
	for b.Loop() {
		p.Reset()
		for _, key := range names {
			p.IncrBy(key, 1)
			p.Expire(key, keys.TTL)
		}
	}
	if p.Len() != 2*len(names) {
		b.Fatalf("%d commands, want %d", p.Len(), 2*len(names))
	}
}
