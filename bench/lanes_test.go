package bench

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// laneSettings are what BenchmarkLanes compares: how many lanes, and how one of
// them is chosen.
var laneSettings = []struct {
	name string
	pool pool.Laned
}{
	{"1", pool.Laned{Lanes: 1}},
	{"2-first-fit", pool.Laned{Lanes: 2, Strategy: lanes.FirstFit}},
	{"4-first-fit", pool.Laned{Lanes: 4, Strategy: lanes.FirstFit}},
	{"8-first-fit", pool.Laned{Lanes: 8, Strategy: lanes.FirstFit}},
	{"4-round-robin", pool.Laned{Lanes: 4, Strategy: lanes.RoundRobin}},
	{"4-least-used", pool.Laned{Lanes: 4, Strategy: lanes.LeastUsed}},
	{"4-power-of-two", pool.Laned{Lanes: 4, Strategy: lanes.PowerOfTwo}},
	{"4-affinity", pool.Laned{Lanes: 4, Strategy: lanes.Affinity}},
}

// BenchmarkLanes is every number of lanes and strategy for mixed_10keys, by the
// time of a round trip added to that of loopback and the number of callers.
func BenchmarkLanes(b *testing.B) {
	target := sharedTarget(b)
	keys := newKeySet(fmt.Sprintf("bench:%x:", time.Now().UnixNano()), variableKeys)
	mixed := scenarios[len(scenarios)-1]
	for _, trip := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		for _, callers := range []int{1, 8, 100, 1000} {
			for _, s := range laneSettings {
				b.Run(fmt.Sprintf("rtt=%v/callers=%d/%s", trip, callers, s.name), func(b *testing.B) {
					d := target.dialer
					if trip > 0 {
						d.NetDial = newDistance(b, trip).dial
					}
					client, err := cluster.Config{Pool: s.pool, Dialer: d}.New(b.Context(), target.addrs)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = client.Close() })
					measure(b, newLoad(client, mixed, keys, callers))
				})
			}
		}
	}
}

// A distance is proxies on the way to the servers.
type distance struct {
	tb   testing.TB
	trip time.Duration

	mu      sync.Mutex // guards what follows
	proxies map[string]*redistest.Proxy
}

func newDistance(tb testing.TB, trip time.Duration) *distance {
	return &distance{tb: tb, trip: trip, proxies: make(map[string]*redistest.Proxy)}
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
