package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// A target is the cluster that is measured.
type target struct {
	addrs   []string
	addrMap func(string) string
}

// started returns a cluster of three servers behind a round trip, which stops with the benchmark.
func started(b *testing.B, trip time.Duration) target {
	t := target{addrs: servers.StartCluster(b, servers.Options{Primaries: 3}).Addrs()}
	if trip > 0 {
		proxies := redistest.StartProxies(b, t.addrs)
		for _, p := range proxies {
			p.Delay(redistest.ToServer, trip/2)
			p.Delay(redistest.ToClient, trip/2)
		}
		t.addrMap = proxies.AddrMap
	}
	return t
}

// client returns a client of the cluster, which is closed with the test.
func (t target) client(tb testing.TB, c cluster.Config) *cluster.Client {
	tb.Helper()
	c.AddrMap = t.addrMap
	client, err := c.New(tb.Context(), t.addrs)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// A scenario is the keys of each request.
type scenario struct {
	name     string
	fixed    int // keys that every request has
	variable int // keys drawn at random for each request
}

var scenarios = []scenario{{"fixed_key", 1, 0}, {"variable_key", 0, 1}, {"mixed_2keys", 1, 1}, mixed}

var mixed = scenario{"mixed_10keys", 5, 5}

// variableKeys is how many keys the variable ones are drawn from.
const variableKeys = 10_000

// A keySet is the names of all keys. Runs have names of their own, as long as users' are, so
// that one does not meet another's keys.
type keySet struct{ fixed, variable []string }

func newKeySet() keySet {
	prefix := fmt.Sprintf("bench:%x:", time.Now().UnixNano())
	return keySet{keys.Fixed(prefix, mixed.fixed), keys.Many(prefix, variableKeys)}
}

// callers returns callers that send the requests of a scenario.
func (s scenario) callers(client *cluster.Client, all keySet, n int) (callers []func(context.Context) error) {
	for i := range n {
		counter := keys.Counter{Pipeline: pipeline.New(client)}
		random := rand.New(rand.NewPCG(uint64(i), 0)) // with a seed for each caller, so that runs are alike
		var drawn []string
		callers = append(callers, func(ctx context.Context) error {
			drawn = append(drawn[:0], all.fixed[:s.fixed]...)
			for range s.variable {
				drawn = append(drawn, all.variable[random.IntN(len(all.variable))])
			}
			return counter.Count(ctx, drawn)
		})
	}
	return callers
}

// warmUpEach is how many requests a caller sends before the clock starts.
const warmUpEach = 20

// warmUp lets each caller send requests and waits until the pools that they use are connected.
func warmUp(ctx context.Context, client *cluster.Client, callers []func(context.Context) error) error {
	if _, err := closed.Count(ctx, callers, warmUpEach*len(callers)); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return closed.Connect(ctx, client, 2*time.Minute)
}

// measure sends b.N requests.
func measure(b *testing.B, client *cluster.Client, callers []func(context.Context) error) {
	if err := warmUp(b.Context(), client, callers); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	r, err := closed.Count(b.Context(), callers, b.N)
	if err != nil {
		b.Fatal(err)
	}
	per := func(v float64, unit string) { b.ReportMetric(v/float64(b.N), unit) }
	per(float64(r.Took), "ns/op")
	per(float64(r.CPU), "cpu-ns/req")
	per(float64(r.Mallocs), "allocs/op")
	per(float64(r.Allocated), "B/op")
	b.ReportMetric(float64(b.N)/r.Took.Seconds(), "req/s")
	b.ReportMetric(float64(r.At(50)), "p50-ns")
	b.ReportMetric(float64(r.At(99)), "p99-ns")
}

// A setting is one that is compared.
type setting struct {
	name   string
	config cluster.Config
}

// inTurns measures the settings one after the other, again and again, so that what the machine
// does meanwhile meets all of them. benchstat -ignore /turn takes the turns together.
func inTurns(b *testing.B, on target, key string, settings []setting, s scenario, callers, turns int) {
	all := newKeySet()
	clients := make([]*cluster.Client, len(settings))
	for i, setting := range settings {
		clients[i] = on.client(b, setting.config)
	}
	for turn := range turns {
		for i, setting := range settings {
			b.Run(fmt.Sprintf("%s=%s/turn=%d", key, setting.name, turn), func(b *testing.B) {
				measure(b, clients[i], s.callers(clients[i], all, callers))
			})
		}
	}
}
