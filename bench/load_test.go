package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// newKeySet has names of its own for each run, as long as users' are, so that one does not meet
// another's keys.
func newKeySet() keys.Set { return keys.NewSet(fmt.Sprintf("bench:%x:", time.Now().UnixNano())) }

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
	require.NoError(b, warmUp(b.Context(), client, callers))
	b.ReportAllocs()
	b.ResetTimer()
	r, err := closed.Count(b.Context(), callers, b.N)
	require.NoError(b, err)
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
func inTurns(b *testing.B, on target, key string, settings []setting, s keys.Scenario, callers, turns int) {
	all := newKeySet()
	clients := make([]*cluster.Client, len(settings))
	for i, setting := range settings {
		clients[i] = on.client(b, setting.config)
	}
	for turn := range turns {
		for i, setting := range settings {
			b.Run(fmt.Sprintf("%s=%s/turn=%d", key, setting.name, turn), func(b *testing.B) {
				measure(b, clients[i], s.Callers(clients[i], all, callers))
			})
		}
	}
}

// TestLoadCountsExactly runs what the benchmarks run and compares the counters
// with what was sent. An error reply ends it.
func TestLoadCountsExactly(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	const callers, requests = 4, 60
	for _, p := range []setting{pools[0], pools[3], pools[5]} {
		client := target{addrs: e.Addrs()}.client(t, p.config)
		for _, s := range keys.Scenarios {
			all := newKeySet()
			senders := s.Callers(client, all, callers)
			require.NoError(t, warmUp(t.Context(), client, senders))
			require.True(t, closed.Connected(client.Stats()))
			_, err := closed.Count(t.Context(), senders, requests)
			require.NoError(t, err)
			sent := int64(requests + callers*warmUpEach)
			require.Equal(t, sent*int64(s.Fixed), total(t, client, all.Fixed), "%s %s", p.name, s.Name)
			require.Equal(t, sent*int64(s.Variable), total(t, client, all.Many), "%s %s", p.name, s.Name)
		}
		e.Inject(1, func(string, []string) string { return "ERR injected" })
		_, err := closed.Count(t.Context(), keys.Mixed(10).Callers(client, newKeySet(), callers), 1_000_000)
		require.ErrorContains(t, err, "ERR …")
		e.Inject(1, nil)
	}
}

// total returns the sum of the counters.
func total(t *testing.T, client *cluster.Client, names []string) (sum int64) {
	p := pipeline.New(client)
	var replies []pipeline.Reply
	for _, key := range names {
		replies = append(replies, p.IncrBy(key, 0))
	}
	require.NoError(t, p.Do(t.Context()))
	for _, r := range replies {
		n, err := r.Int()
		require.NoError(t, err)
		sum += n
	}
	return sum
}
