package drill

import (
	"context"
	"flag"
	"fmt"
	"maps"
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

var (
	drill   = flag.Bool("drill", false, "run the drill, which takes minutes")
	healthy = flag.Duration("healthy", 150*time.Second, "how long the service runs with no outage but slots on the move")
)

// calm is how long each service runs before its outage. No alert may fire in it.
const calm = 75 * time.Second

// awaits bounds how much longer it may take until nothing is about to fire.
const awaits = 5 * time.Minute

// An outage is what goes wrong, and what must be said of it.
type outage struct {
	name   string
	pool   pool.Config
	proxy  time.Duration // that the way to the servers takes, there and back; 0: there is no proxy
	begin  func(t *testing.T, s *scene)
	lasts  time.Duration            // 0: as long as -healthy says
	alerts map[string]time.Duration // that must fire, and after how long at most
	may    []string                 // that are right as well; others are wrong
}

// ofLoad are the alerts that are right, too, on a machine that has no time for its
// processes: requests are slow there, and servers are silent.
var ofLoad = []string{
	"RedislanesRequestSlow", "RedislanesRequestTail", "RedislanesDeadlineNear", "RedislanesWaitLong", "RedislanesWaitTail",
	"RedislanesLimitsWithoutRedis", "RedislanesSomeLimitsWithoutRedis", "RedislanesRequestsFail", "RedislanesNodeStalls",
}

// scene is a cluster, a service and its Prometheus.
type scene struct {
	cluster *servers.Cluster
	proxies redistest.Proxies
	service *service
	watch   *watch
	meter   *meter
}

var outages = []outage{
	{
		name: "none, while 1,000 slots move to and fro", pool: pool.Laned{},
		begin: reshard,
	},
	{
		name: "pools of two connections, and 200 more callers", pool: pool.Fixed{Size: 2}, proxy: 5 * time.Millisecond, lasts: 150 * time.Second,
		begin: func(_ *testing.T, s *scene) { s.service.load(200, 0) },
		alerts: map[string]time.Duration{
			"RedislanesPoolSaturated": 130 * time.Second, "RedislanesWaiters": 130 * time.Second,
		},
		may: []string{
			"RedislanesLimitsWithoutRedis", "RedislanesSomeLimitsWithoutRedis", "RedislanesRequestsFail",
			"RedislanesDeadlineNear", "RedislanesRequestSlow", "RedislanesWaitLong", "RedislanesWaitTail",
		},
	},
	{
		name: "a shard is killed that has no replica", pool: pool.Laned{}, lasts: 150 * time.Second,
		begin: func(t *testing.T, s *scene) { require.NoError(t, s.cluster.Nodes()[0].Kill()) },
		alerts: map[string]time.Duration{
			"RedislanesNodeDown": 25 * time.Second, "RedislanesLimitsWithoutRedis": 35 * time.Second,
			"RedislanesClusterDown": 35 * time.Second, "RedislanesDialsFail": 125 * time.Second,
		},
		may: []string{"RedislanesRequestsFail", "RedislanesSomeLimitsWithoutRedis", "RedisDown"},
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
		may: []string{
			"RedislanesClusterDown", "RedislanesRequestsFail", "RedislanesSomeLimitsWithoutRedis", "RedislanesDialsFail",
			"RedisDown", "RedisExporterDown",
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
		may: []string{"RedislanesRequestsFail", "RedislanesSomeLimitsWithoutRedis", "RedisMemoryNearlyFull"},
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
		if o.lasts == 0 {
			o.lasts = *healthy
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			o.run(t)
		})
	}
}

func (o outage) run(t *testing.T) {
	s := &scene{cluster: servers.StartCluster(t, servers.Options{}), meter: startMeter(t)}
	if o.proxy > 0 {
		s.proxies = redistest.StartProxies(t, s.cluster.Addrs())
		delay(s.proxies, o.proxy)
	}
	s.service = startService(t, s.cluster.Addrs(), o.pool, s.proxies)
	s.watch = startWatch(t, s.service.addr, s.cluster.Addrs())
	s.service.load(20, 50*time.Millisecond)
	judge(t, s, "before the outage", s.watch.firing(t, calm), nil)
	o.await(t, s)

	began := time.Now()
	o.begin(t, s)
	fired := s.watch.firing(t, o.lasts)
	t.Log(o.name + "\n" + table(fired, began))
	judge(t, s, o.name, fired, append(slices.Collect(maps.Keys(o.alerts)), o.may...))
	o.judgeTimes(t, fired, began)
	if _, expected := o.alerts["RedislanesPoolSaturated"]; expected {
		require.Len(t, fired["RedislanesPoolSaturated"].nodes, 3, "each node's pool is saturated")
	}
}

// judgeTimes fails the test if an alert that must fire has not, or too late, or was about
// to before the outage.
func (o outage) judgeTimes(t *testing.T, fired map[string]alert, began time.Time) {
	t.Helper()
	for alert, most := range o.alerts {
		first, ok := fired[alert]
		require.True(t, ok, "%s has not fired", alert)
		require.LessOrEqual(t, first.after, most, alert)
		require.True(t, first.active.After(began), "%s was about to fire %v before the outage", alert, began.Sub(first.active))
	}
}

// await waits until none of the alerts that the outage must cause is about to fire, as
// one of load may be on a machine that is busy for a while.
func (o outage) await(t *testing.T, s *scene) {
	deadline := time.Now().Add(awaits)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for ; ; <-look.C {
		now, err := s.watch.alerts("pending", "firing")
		require.NoError(t, err)
		i := slices.IndexFunc(now, func(a state) bool { _, expected := o.alerts[a.Labels["alertname"]]; return expected })
		if i < 0 {
			return
		}
		text, overloaded := s.meter.overloaded()
		if time.Now().After(deadline) && overloaded {
			t.Skipf("not measured: %s is about to fire without an outage, since the machine is overloaded: %s", now[i].Labels["alertname"], text)
		}
		require.True(t, time.Now().Before(deadline), "%s is about to fire without an outage; %s", now[i].Labels["alertname"], text)
	}
}

// judge fails the test if alerts have fired that are wrong. What an overloaded machine
// makes fire is in the log only.
func judge(t *testing.T, s *scene, when string, fired map[string]alert, right []string) {
	t.Helper()
	text, overloaded := s.meter.overloaded()
	t.Logf("%s: %s", when, text)
	for name, a := range fired {
		switch {
		case slices.Contains(right, name):
		case overloaded && slices.Contains(ofLoad, name):
			t.Logf("%s: %s has fired, as the machine is overloaded", when, name)
		default:
			t.Errorf("%s: %s has fired after %v: it should not", when, name, a.after)
		}
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

// table is what fired, the first first, for the table of the documentation.
func table(fired map[string]alert, began time.Time) string {
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
		a, early := fired[name], ""
		if a.active.Before(began) {
			early = "its time had begun before the outage"
		}
		fmt.Fprintf(&text, "`%s` %.0f s %s %s\n", name, a.after.Seconds(), early, strings.Join(a.nodes, ", "))
	}
	return text.String()
}
