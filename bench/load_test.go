package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/keys"
	"github.com/redislanes/redislanes/bench/internal/usage"
)

// A target is the cluster that is measured.
type target struct {
	addrs  []string
	dialer lanes.Dialer
}

// started returns a cluster of three servers, which stops with the benchmark.
func started(b *testing.B) target {
	return target{addrs: servers.StartCluster(b, servers.Options{Primaries: 3}).Addrs()}
}

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

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

// A setting is one that is compared.
type setting struct {
	name string
	pool pool.Config
}

// A keySet is the names of all keys. Runs have names of their own, as long as users' are, so
// that one does not meet another's keys.
type keySet struct{ fixed, variable []string }

func newKeySet() keySet {
	prefix := fmt.Sprintf("bench:%x:", time.Now().UnixNano())
	return keySet{keys.Fixed(prefix, mixed.fixed), keys.Many(prefix, variableKeys)}
}

// A load is callers that send the requests of a scenario.
type load struct {
	client  *cluster.Client
	callers []*caller
}

// A caller is one goroutine's part of a load.
type caller struct {
	scenario scenario
	all      keySet
	random   *rand.Rand // with a seed for each caller, so that runs are alike
	keys     []string   // of the request
	counter  keys.Counter
}

func newLoad(client *cluster.Client, s scenario, all keySet, callers int) *load {
	l := &load{client: client}
	for i := range callers {
		l.callers = append(l.callers, &caller{scenario: s, all: all, random: rand.New(rand.NewPCG(uint64(i), 0)),
			counter: keys.Counter{Pipeline: pipeline.New(client)}})
	}
	return l
}

func (c *caller) request(ctx context.Context) error {
	c.keys = append(c.keys[:0], c.all.fixed[:c.scenario.fixed]...)
	for range c.scenario.variable {
		c.keys = append(c.keys, c.all.variable[c.random.IntN(len(c.all.variable))])
	}
	return c.counter.Count(ctx, c.keys)
}

// warmUpEach is how many requests a caller sends before the clock starts.
const warmUpEach = 20

// warmUp lets each caller send requests and waits until the pools that they
// use are connected.
func (l *load) warmUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := l.run(ctx, warmUpEach*len(l.callers), make([]time.Duration, 1), 1<<30); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !l.connected() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("warm-up: pools not connected: %w", ctx.Err())
		}
	}
	return nil
}

// connected reports whether the pools have the connections that they want.
func (l *load) connected() bool {
	for _, n := range l.client.Stats().Nodes {
		if s := n.Pool; s.Open < s.Size && (s.Kind != "adaptive" || s.Open == 0) {
			return false
		}
	}
	return true
}

// run sends n requests, shared out among the callers as they get to them, and
// notes every stride-th latency: that of request i*stride at index i. The first error stops
// all callers.
func (l *load) run(ctx context.Context, n int, latencies []time.Duration, stride int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var taken atomic.Int64
	var all sync.WaitGroup
	for _, c := range l.callers {
		all.Go(func() {
			began := time.Now()
			for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
				if err := c.request(ctx); err != nil {
					stop(err)
					return
				}
				ended := time.Now()
				if i%stride == 0 {
					latencies[i/stride] = ended.Sub(began)
				}
				began = ended
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

const maxLatencies = 1 << 22 // that are kept

// measure sends b.N requests.
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

// A distance is proxies on the way to the servers.
type distance struct {
	tb   testing.TB
	trip time.Duration

	mu      sync.Mutex // guards what follows
	proxies map[string]*redistest.Proxy
}

func (d *distance) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	p := d.proxies[addr]
	if p == nil {
		p = redistest.StartProxy(d.tb, addr)
		p.Delay(redistest.ToServer, d.trip/2)
		p.Delay(redistest.ToClient, d.trip/2)
		d.proxies[addr] = p
	}
	d.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, p.Addr())
}

// over puts a round trip before the cluster.
func (t target) over(tb testing.TB, trip time.Duration) target {
	if trip > 0 {
		t.dialer.NetDial = (&distance{tb: tb, trip: trip, proxies: make(map[string]*redistest.Proxy)}).dial
	}
	return t
}
