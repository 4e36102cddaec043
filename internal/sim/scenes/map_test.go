package scenes

import (
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/redistest/sim"
)

// TestFailoverAtOnce: as soon as a replica has taken over, calls succeed.
func TestFailoverAtOnce(t *testing.T) {
	scene(t, setup{client: cluster.Config{RefreshEvery: -1}}, func(s *stage) {
		s.warm()
		keys := []string{s.key(0, 0), s.key(0, 1)}
		s.node(0).Kill()
		s.repeat(100*time.Millisecond, 10*time.Millisecond, func() { s.incr(soon, keys[0]) })
		s.node(0).Failover()
		time.Sleep(250 * time.Millisecond)
		s.incr(120*time.Millisecond, keys[1]).ok(120 * time.Millisecond)
		s.incr(120*time.Millisecond, keys[0]).ok(trip)
	})
}

// TestPatientCallsOutliveAFailover: calls that have time fail neither in a graceful failover
// nor in one that takes less than the window.
func TestPatientCallsOutliveAFailover(t *testing.T) {
	each(t, setup{}, map[string]func(s *stage){
		"graceful": func(s *stage) { s.model.FailoverGracefully(s.inside(3), 2*time.Second) },
		"at once":  func(s *stage) { s.node(0).Failover() },
		"forced": func(s *stage) {
			s.node(0).Kill()
			time.AfterFunc(500*time.Millisecond, func() { s.node(0).Failover() })
		},
	}, func(s *stage, failover func(s *stage)) {
		s.warm()
		key := s.key(0, 0)
		failover(s)
		time.Sleep(time.Millisecond)
		s.repeat(3*time.Second, 20*time.Millisecond, func() { s.incr(4*time.Second, key).ok(2500 * time.Millisecond) })
		s.dedicated(time.Second, key).ok(soon)
	})
}

// TestMovingSlots: calls succeed while their slot moves, key by key.
func TestMovingSlots(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		key := s.key(0, 0)
		finish := s.StartMove(key, s.node(1))
		calls := func() {
			s.incr(time.Second, key).ok(3 * trip)
			s.incr(time.Second, "{"+key+"}new").ok(3 * trip)
			s.hit(time.Second, "{"+key+"}hit").ok(6 * trip)
			s.transact("{" + key + "}t").ok(soon)
		}
		calls()
		s.model.MoveKeys(cluster.Slot(key), 1)
		calls()
		finish()
		calls()
		time.Sleep(time.Second)
		s.incr(time.Second, key).ok(trip)
	})
}

// transact counts a key twice in a transaction that is one pipeline.
func (s *stage) transact(key string) result {
	p := radix.NewPipeline()
	for _, command := range [][]string{{"MULTI"}, {"INCRBY", key, "1"}, {"INCRBY", key, "1"}, {"EXEC"}} {
		p.Append(radix.Cmd(nil, command[0], command[1:]...))
	}
	return s.do(5*time.Second, p)
}

// believes waits for the time, in which the client must not believe that the slot is another
// node's.
func (s *stage) believes(slot uint16, owner *sim.Node, during func()) {
	s.Helper()
	for range 8 {
		during()
		require.Equal(s, owner.Addr(), s.client.Primary(slot))
	}
}

// TestStranger: a server of another cluster at a node's address, with great epochs, gets no
// commands and takes no slots.
func TestStranger(t *testing.T) {
	each(t, setup{}, map[string]model.Start{
		"of a cluster": {Stranger: true, Epoch: 1 << 20}, "standalone": {Standalone: true},
	}, func(s *stage, start model.Start) {
		s.warm()
		key := s.key(0, 0)
		s.inside(0).Kill()
		s.inside(0).Restart(start)
		s.believes(cluster.Slot(s.key(1, 0)), s.node(1), func() {
			s.incr(100*time.Millisecond, key).failed(110 * time.Millisecond)
			s.incr(100*time.Millisecond, s.key(1, 0)).ok(soon)
			s.sync(time.Second)
		})
	})
}

// TestReplicaOutage: what replicas refuse, their primary answers, also if it is slow.
func TestReplicaOutage(t *testing.T) {
	const slow = 340 * time.Millisecond
	for name, fault := range map[string]func(s *stage, replica int){
		"refuses": func(s *stage, i int) { s.inside(i).MasterDown(true) },
		"loads":   func(s *stage, i int) { s.inside(i).Loading(time.Minute) },
		"silent":  func(s *stage, i int) { s.node(i).Freeze() },
		"gone":    func(s *stage, i int) { s.node(i).Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			scene(t, setup{client: cluster.Config{RetryWindow: -1}}, func(s *stage) {
				read := func(within time.Duration) result { return s.secondary(within, s.key(0, 0)) }
				s.warm()
				read(time.Second).ok(soon)
				fault(s, 3)
				if name == "silent" {
					read(known) // in flight, it has no answer
				}
				read(2 * time.Second).ok(map[string]time.Duration{"refuses": soon, "gone": soon, "loads": soon, "silent": soon}[name])
				if name == "refuses" {
					s.net.Impose("", s.node(0).Addr(), simnet.Conditions{Latency: slow})
					read(2*slow + 380*time.Millisecond).ok(2*slow + 380*time.Millisecond)
				}
			})
		})
	}
}

// TestLeavingNode: writes that wait at a node which leaves the map have their replies.
func TestLeavingNode(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		keys := []string{s.key(0, 0), s.key(0, 1), s.key(0, 2), s.key(0, 3)}
		s.node(0).PauseWrites(5 * time.Second)
		wait := together(4, func(i int) { s.incr(5*time.Second, keys[i]).ok(2 * time.Second) })
		time.Sleep(100 * time.Millisecond)
		s.model.Assign(0, model.SlotCount/3-1, s.inside(1)) // all that it has
		time.Sleep(300 * time.Millisecond)
		s.get(time.Second, keys[0]).ok(soon)
		s.sync(time.Second).ok(soon)
		s.sync(time.Second).ok(soon)
		time.Sleep(time.Second)
		s.inside(0).Unpause()
		wait()
	})
}

// TestHangingWrites: a primary that is cut off from the others hangs in writes, and refuses
// nothing. The deadlines of calls tell of it.
func TestHangingWrites(t *testing.T) {
	scene(t, setup{client: cluster.Config{RefreshEvery: -1}}, func(s *stage) {
		s.warm()
		keys := make([]string, 20)
		for i := range keys {
			keys[i] = s.key(0, i)
		}
		s.inside(0).Deaf(true)
		s.node(0).PauseWrites(time.Minute)
		s.node(0).Failover()
		i := 0
		s.repeat(3800*time.Millisecond, 100*time.Millisecond, func() { s.incr(200*time.Millisecond, keys[i%20]); i++ })
		s.incr(500*time.Millisecond, keys[0]).ok(soon)
	})
}

// TestClusterIsReplaced: of three seeds two are dead, and the cluster behind the third is
// another one: other IDs, other addresses. The client finds it.
func TestClusterIsReplaced(t *testing.T) {
	each(t, setup{}, map[string]bool{"refused": false, "unanswered": true}, func(s *stage, silent bool) {
		const seed = "cluster.example:6379"
		stand := func(n int) (nodes []*model.Node) {
			c := model.New(model.Options{Seed: uint64(n), Primaries: 2, Addr: func(i int) string { return fmt.Sprintf("10.%d.0.%d:6379", n, i+1) }})
			for _, node := range c.Nodes() {
				s.net.Listen(node.Addr(), c.Serve(node))
			}
			s.net.Listen(seed, c.Serve(c.Nodes()[0]))
			return c.Nodes()
		}
		first := stand(8)
		s.client = s.another(cluster.Config{}, "10.9.9.1:6379", "10.9.9.2:6379", seed)
		set := func() result { return s.cmd(500*time.Millisecond, "SET", "k", "v") }
		set().ok(soon)
		for _, n := range first {
			n.Kill()
			s.net.Impose("", n.Addr(), simnet.Conditions{Refuse: !silent, Blackhole: silent})
		}
		time.Sleep(200 * time.Millisecond)
		stand(9)
		s.repeat(15*time.Second, 50*time.Millisecond, func() { set() })
		set().ok(soon)
	})
}

// TestMovedOutweighsOlderMaps: what MOVED has said of a slot stands against maps of nodes that
// have not heard of it.
func TestMovedOutweighsOlderMaps(t *testing.T) {
	scene(t, setup{client: cluster.Config{RefreshEvery: -1}}, func(s *stage) {
		s.warm()
		key := s.key(0, 0)
		for i := 2; i < 6; i++ {
			s.inside(i).Deaf(true)
		}
		slot := cluster.Slot(key)
		require.True(s, s.model.Migrate(slot, s.inside(1)))
		s.node(1).RefuseDials()
		s.model.FinishMigration(slot)
		s.incr(time.Second, key).ok(soon)
		s.believes(slot, s.node(1), func() { s.sync(time.Second) })
	})
}
