package scenes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/redistest/sim"
)

// watched is a primary with a replica and three Sentinels.
func watched() setup {
	return setup{
		servers: sim.Config{Sentinels: 3},
		client:  cluster.Config{Sentinel: sim.SentinelName},
		seeds:   (*sim.Cluster).SentinelAddrs,
	}
}

// TestTwoPrimaries: a Sentinel that is cut off with the old primary is not believed.
func TestTwoPrimaries(t *testing.T) {
	for deaf := range 3 {
		scene(t, watched(), func(s *stage) {
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
	scene(t, watched(), func(s *stage) {
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
	own(t, model.Options{Primaries: 1, NoCluster: true}, func(s *stage) {
		const used, other = "10.0.0.1:6379", "10.9.9.9:6379"
		s.lead(used, s.inside(0))
		s.client = s.another(cluster.Config{}, other, used)
		ran := 0
		c := model.New(model.Options{Primaries: 1, NoCluster: true, Addr: func(int) string { return other }, Executed: func(model.Execution) { ran++ }})
		s.net.Listen(other, c.Serve(c.Nodes()[0]))
		s.net.Impose("", used, simnet.Conditions{Latency: 110 * time.Millisecond})
		for range 3 {
			s.sync(time.Minute)
			s.incr(time.Minute, "k").ok(time.Second)
		}
		require.Zero(s, ran)
	})
}

// TestNameLeadsElsewhere: the nodes of a shard share a name. Its connections to the old primary
// stay open, and MOVED names the address that they use. When the name leads to the new
// primary, calls succeed.
func TestNameLeadsElsewhere(t *testing.T) {
	for name, late := range map[string]time.Duration{"at once": 0, "late": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			names := []string{"one.example:6379", "two.example:6379"}
			var follow func(n *model.Node)
			own(t, model.Options{
				Primaries: 2, Replicas: 1, Addr: func(i int) string { return names[i%2] },
				Promoted: func(n *model.Node) { time.AfterFunc(late, func() { follow(n) }) },
			}, func(s *stage) {
				follow = func(n *model.Node) { s.lead(n.Addr(), n) }
				follow(s.inside(0))
				follow(s.inside(1))
				s.client = s.another(cluster.Config{}, names...)
				old := s.model.Owner(cluster.Slot("k"))
				for range 8 {
					s.incr(time.Second, "k").ok(time.Second)
				}
				s.model.Failover(s.inside(old.Index()+2), false)
				s.repeat(late+1700*time.Millisecond, 100*time.Millisecond, func() { s.incr(2*time.Second, "k") })
				for range 20 {
					s.incr(500*time.Millisecond, "k").ok(500 * time.Millisecond)
				}
			})
		})
	}
}
