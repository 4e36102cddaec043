package scenes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestSilentNode: calls for a node that has been silent for longer than the window fail at once, calls for
// other nodes notice nothing, and one byte ends the suspicion.
func TestSilentNode(t *testing.T) {
	scenes(t, map[string]setup{
		"lanes": {}, "fixed": {client: config(pool.Fixed{Size: 4})}, "adaptive": {client: config(pool.Adaptive{Min: 1, Max: 4})},
	}, func(s *stage) {
		s.warm()
		s.node(0).Freeze()
		s.repeat(window+50*time.Millisecond, 20*time.Millisecond, func() { s.hit(100*time.Millisecond, s.key(0, 0)) })
		s.repeat(2*time.Second, 20*time.Millisecond, func() {
			s.hit(100*time.Millisecond, s.key(0, 0)).failed(soon, redislanes.ErrDown)
			s.incr(100*time.Millisecond, s.key(1, 0)).ok(2 * trip) // a PING may be under way on an exclusive connection
		})
		s.node(0).Heal()
		time.Sleep(50 * time.Millisecond)
		s.incr(100*time.Millisecond, s.key(0, 1)).ok(soon)
	})
}

// TestUnansweredDials: the same of a node of which all connections are lost, and that answers
// no dial.
func TestUnansweredDials(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		s.node(0).Isolate()
		s.node(0).Cut()
		time.Sleep(time.Millisecond)
		s.incr(5*time.Second, s.key(0, 0)).failed(known + window + soon)
		s.repeat(3*time.Second, 100*time.Millisecond, func() { s.incr(5*time.Second, s.key(0, 0)).failed(soon, redislanes.ErrDown) })
	})
}

// TestSilentDeath: the network forgets all connections of a node. Calls succeed 0.55 s later.
func TestSilentDeath(t *testing.T) {
	scenes(t, map[string]setup{"lanes": {}, "fixed": {client: config(pool.Fixed{Size: 4})}}, func(s *stage) {
		s.warm()
		s.node(0).CutSilently()
		s.repeat(550*time.Millisecond, 25*time.Millisecond, func() { s.incr(100*time.Millisecond, s.key(0, 0)) })
		s.repeat(2*time.Second, 25*time.Millisecond, func() { s.incr(100*time.Millisecond, s.key(0, 0)).ok(100 * time.Millisecond) })
	})
}

// TestLaneWithoutServer: one of four lanes is dead. The others serve.
func TestLaneWithoutServer(t *testing.T) {
	scene(t, setup{client: config(pool.Laned{Lanes: 4})}, func(s *stage) {
		s.warm()
		s.net.VanishUsed("client", s.node(0).Addr())
		s.repeat(2*time.Second, 60*time.Millisecond, func() { s.incr(time.Second, s.key(0, 0)) })
		s.repeat(2*time.Second, 60*time.Millisecond, func() { s.incr(time.Second, s.key(0, 0)).ok(soon) })
	})
}

// TestOnlyLaneWithoutServer: the only lane is dead. Those for slow commands are well, and idle or busy. Calls
// succeed 0.55 s later.
func TestOnlyLaneWithoutServer(t *testing.T) {
	with := setup{client: cluster.Config{Pool: pool.Laned{Lanes: 1}, Slow: []string{"SET"}}}
	each(t, with, map[string]time.Duration{"idle": 0, "busy": 20 * time.Second}, func(s *stage, busy time.Duration) {
		s.warm()
		set := func() { s.cmd(time.Second, "SET", s.key(0, 1), "v").ok(soon) }
		set()
		s.incr(time.Second, s.key(0, 0)).ok(soon)
		s.net.VanishUsed("client", s.node(0).Addr())
		wait := together(1, func(int) { s.repeat(busy, 20*time.Millisecond, set) })
		s.repeat(550*time.Millisecond, 25*time.Millisecond, func() { s.incr(100*time.Millisecond, s.key(0, 0)) })
		s.repeat(20*time.Second, 25*time.Millisecond, func() { s.incr(100*time.Millisecond, s.key(0, 0)).ok(soon) })
		wait()
		require.Len(s, s.stats(0).LaneInFlight, 1)
		require.Len(s, s.stats(0).SlowLaneInFlight, 2)
	})
}

// TestSlowConnection: replies on one connection are late. At most five calls fail, all of them soon.
func TestSlowConnection(t *testing.T) {
	scenes(t, map[string]setup{"lanes": {}, "fixed": {client: config(pool.Fixed{Size: 4})}}, func(s *stage) {
		s.warm()
		defer s.net.SlowUsed("client", s.node(0).Addr(), 2*time.Second)()
		s.repeat(25*time.Millisecond, 5*time.Millisecond, func() { go s.incr(100*time.Millisecond, s.key(0, 0)) })
		s.repeat(10*time.Second, 5*time.Millisecond, func() { s.incr(100*time.Millisecond, s.key(0, 0)).ok(soon) })
	})
}

// TestBackFromSilence: soon after the first reply of a node that was silent, calls are let through again.
func TestBackFromSilence(t *testing.T) {
	scenes(t, map[string]setup{"lanes": {}, "fixed": {client: config(pool.Fixed{Size: 2})}}, func(s *stage) {
		s.warm()
		for range 2 {
			s.node(0).Freeze()
			var held result
			wait := together(1, func(int) { held = s.incr(5*time.Second, s.key(0, 0)) })
			time.Sleep(2 * known)
			s.incr(100*time.Millisecond, s.key(0, 0)).failed(soon, redislanes.ErrDown)
			s.node(0).Heal()
			wait()
			held.ok(2*known + 2*soon)
			time.Sleep(soon) // until the pool has seen that
			s.incr(100*time.Millisecond, s.key(0, 0)).ok(soon)
			time.Sleep(2 * time.Second)
		}
	})
}

// TestRedirectBesideASilentNode: a redirect does not wait for another node's reply.
func TestRedirectBesideASilentNode(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		moved, held := s.key(0, 0), s.key(2, 0)
		s.Move(moved, s.node(1))
		s.node(2).Freeze()
		p := pipeline.New(s.client)
		r, other := p.IncrBy(moved, 1), p.IncrBy(held, 1)
		s.call(600*time.Millisecond, p.Do)
		require.NoError(s, r.Err())
		require.ErrorIs(s, other.Err(), redislanes.ErrUnknownOutcome)
	})
}

// TestMapBesideASilentNode: the map of the slots is asked of nodes that answer.
func TestMapBesideASilentNode(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		s.node(0).Freeze()
		wait := together(1, func(int) { s.incr(3*time.Second, s.key(0, 0)) })
		time.Sleep(known + 700*time.Millisecond)
		for range 12 {
			s.sync(time.Second).ok(soon)
		}
		wait()
	})
}
