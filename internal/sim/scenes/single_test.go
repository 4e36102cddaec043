package scenes

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/peek"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest/sim"
)

// watched is a primary with a replica and three Sentinels.
func watched() setup {
	return setup{
		servers: sim.Config{Sentinels: 3},
		client:  cluster.Config{Sentinel: &cluster.Sentinel{Primary: sim.SentinelName}},
		seeds:   (*sim.Cluster).SentinelAddrs,
	}
}

// sentinelScene is scene for such servers.
func sentinelScene(t *testing.T, play func(s *stage)) {
	with := watched()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, Cluster: sim.Start(t, with.servers)}
		s.model, s.net = peek.Into(s.Cluster)
		s.client = s.sentinelClient()
		play(s)
	})
}

func (s *stage) sentinelClient() *cluster.Client {
	c := watched().client
	c.Sentinel.Dialer = lanes.Dialer{NetDial: s.Dial}
	return s.another(c, s.SentinelAddrs())
}

// TestNewClientBehindADeafSentinel: the first Sentinel has not heard of a failover. The replica
// is not taken for the primary.
func TestNewClientBehindADeafSentinel(t *testing.T) {
	sentinelScene(t, func(s *stage) {
		s.model.Sentinels()[0].Deaf(true)
		s.node(0).Failover()
		time.Sleep(400 * time.Millisecond)
		client := s.sentinelClient()
		require.NoError(s, client.Cmd(s.Context(), "SET", "k", "v").Err())
		require.Equal(s, s.node(1).Addr(), client.Primary(0))
	})
}

// TestTwoPrimaries: a Sentinel that is cut off with the old primary is not believed.
func TestTwoPrimaries(t *testing.T) {
	for deaf := range 3 {
		sentinelScene(t, func(s *stage) {
			s.model.Sentinels()[deaf].Deaf(true)
			s.inside(0).Deaf(true)
			s.node(0).Failover()
			time.Sleep(200 * time.Millisecond)
			for range 8 {
				s.sync(time.Second).ok(soon)
			}
			s.believes(0, s.node(1), func() { s.sync(time.Second).ok(soon) })
		})
	}
}

// TestSentinelFailover: calls with time succeed, and a demoted primary is not dialled for ever.
func TestSentinelFailover(t *testing.T) {
	sentinelScene(t, func(s *stage) {
		s.incr(time.Second, "k").ok(soon)
		s.node(0).Kill()
		time.AfterFunc(300*time.Millisecond, func() { s.node(0).Failover() })
		time.Sleep(time.Millisecond)
		s.incr(3*time.Second, "k").ok(time.Second)
		time.Sleep(time.Minute)
		before := s.dials(0)
		time.Sleep(time.Minute)
		require.Less(s, s.dials(0)-before, 80)
	})
}

// TestSoonerServer: another server, with other data, answers at a seed's address sooner than
// the one in use. Nothing is sent to it.
func TestSoonerServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(1)
		net.Impose("", "", simnet.Conditions{Latency: trip / 2})
		ran := 0
		stand := func(addr string, executed func(model.Execution)) {
			c := model.New(model.Options{Primaries: 1, NoCluster: true, Addr: func(int) string { return addr }, Executed: executed})
			net.Listen(addr, c.Serve(c.Nodes()[0]))
		}
		stand("10.0.0.1:6379", nil)
		client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: net.Dialer("client")}}.New(t.Context(), []string{"10.9.9.9:6379", "10.0.0.1:6379"})
		require.NoError(t, err)
		stand("10.9.9.9:6379", func(model.Execution) { ran++ })
		net.Impose("", "10.0.0.1:6379", simnet.Conditions{Latency: 110 * time.Millisecond})
		for range 3 {
			_ = client.Sync(t.Context())
			require.NoError(t, client.Cmd(t.Context(), "INCRBY", "k", 1).Err())
		}
		require.Zero(t, ran)
		require.NoError(t, client.Close())
		net.Close()
	})
}

// TestFailoverBehindAProxy: a proxy leads to the new primary from now on, and a user keeps a
// connection to the old one. Given back, it is lent to nobody.
func TestFailoverBehindAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(1)
		net.Impose("", "", simnet.Conditions{Latency: trip / 2})
		c := model.New(model.Options{Primaries: 1, Replicas: 1, NoCluster: true, Proxy: true})
		c.GossipLag(100 * time.Millisecond)
		var front atomic.Pointer[model.Node]
		front.Store(c.Nodes()[0])
		const addr = "10.0.0.9:6379"
		lead := func(n *model.Node) { net.Listen(addr, c.Serve(n)) }
		lead(c.Nodes()[0])
		client, err := cluster.Config{Standalone: true, Dialer: lanes.Dialer{NetDial: net.Dialer("client"), NoSetInfo: true}}.New(t.Context(), []string{addr})
		require.NoError(t, err)
		keep := make(chan struct{})
		wait := together(1, func(int) {
			_ = client.Do(t.Context(), radix.WithConn("k", func(context.Context, radix.Conn) error { <-keep; return nil }))
		})
		time.Sleep(1500 * time.Millisecond)
		c.Failover(c.Nodes()[1], false)
		lead(c.Nodes()[1])
		set := func() error {
			return client.Do(t.Context(), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "SET", "k", "v"))
			}))
		}
		for range 3 {
			_ = client.Cmd(t.Context(), "SET", "k", "v").Err()
			_ = set()
			time.Sleep(1200 * time.Millisecond)
		}
		require.NoError(t, set())
		close(keep)
		wait()
		time.Sleep(10 * time.Millisecond)
		for range 3 {
			require.NoError(t, set())
			require.NoError(t, client.Cmd(t.Context(), "SET", "k", "v").Err())
		}
		require.NoError(t, client.Close())
		net.Close()
	})
}

// TestNameLeadsElsewhere: the nodes of a shard share a name. Its connections to the old primary
// stay open, and MOVED names the address that they use. When the name leads to the new
// primary, calls succeed.
func TestNameLeadsElsewhere(t *testing.T) {
	for name, late := range map[string]time.Duration{"at once": 0, "late": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := simnet.New(1)
				net.Impose("", "", simnet.Conditions{Latency: trip / 2})
				var c *model.Cluster
				names := []string{"one.example:6379", "two.example:6379"}
				lead := func(n *model.Node) { net.Listen(n.Addr(), c.Serve(n)) }
				c = model.New(model.Options{
					Primaries: 2, Replicas: 1, Addr: func(i int) string { return names[i%2] },
					Promoted: func(n *model.Node) { time.AfterFunc(late, func() { lead(n) }) },
				})
				c.GossipLag(100 * time.Millisecond)
				lead(c.Nodes()[0])
				lead(c.Nodes()[1])
				client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: net.Dialer("client")}}.New(t.Context(), names)
				require.NoError(t, err)
				key := "k"
				old := c.Owner(sim.Slot(key))
				set := func(within time.Duration) error {
					ctx, cancel := context.WithTimeout(t.Context(), within)
					defer cancel()
					return client.Cmd(ctx, "SET", key, "v").Err()
				}
				for range 8 {
					require.NoError(t, set(time.Second))
				}
				c.Failover(c.Nodes()[old.Index()+2], false)
				for end := time.Now().Add(late + 1700*time.Millisecond); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
					_ = set(2 * time.Second)
				}
				for range 20 {
					require.NoError(t, set(500*time.Millisecond))
				}
				require.NoError(t, client.Close())
				net.Close()
			})
		})
	}
}
