package drill

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

var drill = flag.Bool("drill", false, "run the drill, which takes minutes")

// calm is how long each service runs before its outage. No alert may fire in it.
const calm = 75 * time.Second

// An outage is what goes wrong, and what must be said of it.
type outage struct {
	name   string
	pool   pool.Config
	proxy  time.Duration // that the way to the servers takes, there and back; 0: there is no proxy
	begin  func(t *testing.T, s *scene)
	lasts  time.Duration
	alerts map[string]time.Duration // that must fire, and after how long at most
}

// scene is a cluster, a service and its Prometheus.
type scene struct {
	cluster *servers.Cluster
	proxies redistest.Proxies
	service *service
	watch   *watch
}

var outages = []outage{
	{
		name: "none, while 1,000 slots move to and fro", pool: pool.Laned{}, lasts: 150 * time.Second,
		begin: reshard,
	},
	{
		name: "pools of two connections, and 200 more callers", pool: pool.Fixed{Size: 2}, proxy: 5 * time.Millisecond, lasts: 150 * time.Second,
		begin: func(_ *testing.T, s *scene) { s.service.load(200, 0) },
		alerts: map[string]time.Duration{
			"RedislanesPoolSaturated": 130 * time.Second, "RedislanesWaiters": 130 * time.Second,
		},
	},
	{
		name: "a shard is killed that has no replica", pool: pool.Laned{}, lasts: 150 * time.Second,
		begin: func(t *testing.T, s *scene) { require.NoError(t, s.cluster.Nodes()[0].Kill()) },
		alerts: map[string]time.Duration{
			"RedislanesNodeDown": 25 * time.Second, "RedislanesLimitsWithoutRedis": 35 * time.Second,
			"RedislanesClusterDown": 35 * time.Second, "RedislanesDialsFail": 125 * time.Second,
		},
	},
	{
		name: "a node is stopped (SIGSTOP)", pool: pool.Laned{}, lasts: 150 * time.Second,
		begin: func(t *testing.T, s *scene) {
			require.NoError(t, s.cluster.Nodes()[0].Pause())
			t.Cleanup(func() { _ = s.cluster.Nodes()[0].Resume() })
		},
		alerts: map[string]time.Duration{
			"RedislanesNodeDown": 25 * time.Second, "RedislanesNodeStalls": 25 * time.Second, "RedislanesLimitsWithoutRedis": 35 * time.Second,
		},
	},
	{
		name: "a node's memory is full (maxmemory, noeviction)", pool: pool.Laned{}, lasts: 90 * time.Second,
		begin: func(t *testing.T, s *scene) {
			require.NoError(t, s.cluster.Nodes()[0].Do(t.Context(), nil, "CONFIG", "SET", "maxmemory", "1"))
		},
		alerts: map[string]time.Duration{
			"RedislanesServerErrors": 30 * time.Second, "RedislanesLimitsWithoutRedis": 35 * time.Second,
		},
	},
	{
		name: "20 ms more on the way to all nodes", pool: pool.Laned{}, proxy: time.Millisecond, lasts: 210 * time.Second,
		begin: func(_ *testing.T, s *scene) { delay(s.proxies, 21*time.Millisecond) },
		alerts: map[string]time.Duration{
			"RedislanesRequestSlow": 195 * time.Second,
		},
	},
}

func TestDrill(t *testing.T) {
	if !*drill {
		t.Skip("takes minutes: make drill")
	}
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			o.run(t)
		})
	}
}

func (o outage) run(t *testing.T) {
	s := &scene{cluster: servers.StartCluster(t, servers.Options{})}
	if o.proxy > 0 {
		s.proxies = redistest.StartProxies(t, s.cluster.Addrs())
		delay(s.proxies, o.proxy)
	}
	s.service = startService(t, s.cluster.Addrs(), o.pool, s.proxies)
	s.watch = startWatch(t, s.service.addr, s.cluster.Addrs())
	s.service.load(20, 50*time.Millisecond)
	require.Empty(t, s.watch.firing(t, calm), "before the outage")

	began := time.Now()
	o.begin(t, s)
	fired := s.watch.firing(t, o.lasts-time.Since(began))
	t.Log(o.name + "\n" + table(fired))
	for alert, most := range o.alerts {
		first, ok := fired[alert]
		require.True(t, ok, "%s has not fired", alert)
		require.LessOrEqual(t, first.after, most, alert)
	}
	if len(o.alerts) == 0 {
		require.Empty(t, fired)
	}
	if _, expected := o.alerts["RedislanesPoolSaturated"]; expected {
		require.Len(t, fired["RedislanesPoolSaturated"].nodes, 3, "each node's pool is saturated")
	}
}

// delay makes the way to the servers take so long, there and back.
func delay(proxies redistest.Proxies, trip time.Duration) {
	for _, p := range proxies {
		p.Delay(redistest.ToServer, trip/2)
		p.Delay(redistest.ToClient, trip/2)
	}
}

// reshard moves slots to and fro, every 20 s, until the test ends.
func reshard(t *testing.T, s *scene) {
	nodes := s.cluster.Nodes()
	slots := make([]uint16, 1000)
	for i := range slots {
		slots[i] = uint16(i)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 1; ; i++ {
			if err = s.cluster.Reshard(ctx, slots, nodes[i%2]); err != nil {
				return
			}
			select {
			case <-time.After(20 * time.Second):
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		select {
		case <-ended:
			t.Errorf("no slots move any more: %v", err)
		default:
			cancel()
			<-ended
		}
		cancel()
	})
}

// table is what fired, the first first, as a table of the documentation.
func table(fired map[string]alert) string {
	names := make([]string, 0, len(fired))
	for name := range fired {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := fired[a].after - fired[b].after; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "| `%s` | %.0f s | %s |\n", name, fired[name].after.Seconds(), strings.Join(fired[name].nodes, ", "))
	}
	return text.String()
}
