package scenes

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest/sim"
)

// crowd has so many calls under way at a node at the same moment.
func (s *stage) crowd(node, n int) {
	together(n, func(i int) { s.incr(time.Second, s.key(node, i)) })()
}

// TestSlowWaited: what waited for a connection is written before Trace.Waited is told of it.
func TestSlowWaited(t *testing.T) {
	var slow atomic.Bool
	told := func(redislanes.WaitInfo) {
		if slow.Load() {
			time.Sleep(time.Second)
		}
	}
	scene(t, setup{client: cluster.Config{Pool: pool.Fixed{Size: 1}, Trace: &redislanes.Trace{Waited: told}}}, func(s *stage) {
		s.warm()
		giveBack := s.keep(s.key(0, 0))
		time.Sleep(soon)
		slow.Store(true)
		wait := together(1, func(int) { s.incr(100*time.Millisecond, s.key(0, 0)).ok(2 * trip) })
		time.Sleep(trip)
		giveBack()
		wait()
	})
}

// TestSilenceAndPause: bytes are held up until the client asks whether the server is there,
// and then writes are. A server that answers questions is not suspect.
func TestSilenceAndPause(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		lift := s.net.Impose("", s.node(0).Addr(), simnet.Conditions{Partition: simnet.Both})
		time.AfterFunc(400*time.Millisecond, lift)
		s.incr(10*time.Second, s.key(0, 0)).ok(500 * time.Millisecond)
		s.node(0).PauseWrites(1500 * time.Millisecond)
		s.incr(10*time.Second, s.key(0, 0)).ok(1600 * time.Millisecond)
		require.Zero(s, s.stats(0).Downs)
	})
}

// TestHangUps: a server that hangs up behind the handshake, or behind the PING of a proof, is
// dialled within bounds, and gets no command of which the outcome is unknown later.
func TestHangUps(t *testing.T) {
	t.Run("behind a PING", func(t *testing.T) {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			lift := s.net.Impose("", s.node(0).Addr(), simnet.Conditions{Refuse: true})
			s.node(0).Cut()
			time.Sleep(500 * time.Millisecond)
			s.inside(0).HangUpBehind("ping")
			lift()
			before := s.dials(0)
			s.repeat(2*time.Second, soon, func() { s.incr(100*time.Millisecond, s.key(0, 0)) })
			require.Less(s, s.dials(0)-before, 100)
		})
	})
	t.Run("behind the handshake", func(t *testing.T) {
		scene(t, setup{servers: sim.Config{Latency: time.Millisecond}}, func(s *stage) {
			s.warm()
			s.net.Impose("", s.node(0).Addr(), simnet.Conditions{HangUpAfter: 2 * time.Millisecond})
			s.repeat(500*time.Millisecond, soon, func() { s.incr(100*time.Millisecond, s.key(0, 0)) })
			before := s.dials(0)
			s.repeat(3*time.Second, soon, func() {
				require.NotErrorIs(s, s.incr(100*time.Millisecond, s.key(0, 0)).err, redislanes.ErrUnknownOutcome)
			})
			require.Less(s, s.dials(0)-before, 150)
		})
	})
}

// TestPasswordChanges: all connections are lost while Credentials still returns the old
// password. Callers are served as soon as it returns the new one.
func TestPasswordChanges(t *testing.T) {
	var password atomic.Pointer[string]
	set := func(p string) { password.Store(&p) }
	set("old")
	with := setup{servers: sim.Config{Password: "old"}}
	with.client.Dialer.Credentials = func(context.Context) (string, string, error) { return "", *password.Load(), nil }
	scene(t, with, func(s *stage) {
		s.warm()
		for i := range s.Nodes() {
			s.inside(i).RequirePass("", "new", false)
			s.node(i).Cut()
		}
		time.AfterFunc(300*time.Millisecond, func() { set("new") })
		time.Sleep(soon)
		together(4, func(i int) { s.incr(2500*time.Millisecond, s.key(i%3, i)).ok(time.Second) })()
	})
}

// TestChangedPasswordIsTheReason: who cannot be served is told of the password.
func TestChangedPasswordIsTheReason(t *testing.T) {
	with := setup{servers: sim.Config{Password: "old"}}
	with.client.Dialer.Credentials = func(context.Context) (string, string, error) { return "", "old", nil }
	scene(t, with, func(s *stage) {
		s.warm()
		s.inside(0).RequirePass("", "new", false)
		s.node(0).Cut()
		time.Sleep(8 * trip)
		r := s.incr(2*time.Second, s.key(0, 0))
		r.failed(1200 * time.Millisecond)
		require.ErrorContains(s, r.err, "WRONGPASS")
		require.NotContains(s, r.err.Error(), "old")
	})
}

// TestTokens: servers close connections whose tokens have ended. That costs what is in flight,
// and with a MaxAge below their life nothing.
func TestTokens(t *testing.T) {
	const life = 2500 * time.Millisecond
	for name, age := range map[string]time.Duration{"lost": 0, "renewed": time.Second} {
		t.Run(name, func(t *testing.T) {
			with := setup{servers: sim.Config{Password: "pw"}, client: config(pool.Laned{Options: pool.Options{MaxAge: age}})}
			with.client.Dialer = lanes.Dialer{Credentials: func(context.Context) (string, string, error) {
				return "", model.Token("pw", time.Now()), nil
			}}
			with.before = func(s *stage) {
				for _, n := range s.model.Nodes() {
					n.Tokens(life)
				}
			}
			scene(t, with, func(s *stage) {
				s.repeat(8*time.Second, 7*time.Millisecond, func() {
					r := s.incr(2*time.Second, s.key(0, 0))
					inFlight := age == 0 && errors.Is(r.err, redislanes.ErrUnknownOutcome)
					require.True(s, r.err == nil || inFlight, "%v", r.err)
				})
			})
		})
	}
}

// TestKeptFromBefore: an address leads to another server, and a user keeps a connection to the
// old one, which is a replica now. Given back, nobody gets it.
func TestKeptFromBefore(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		key := s.key(0, 0)
		kept, told := s.keep(key), s.keep(key)
		time.Sleep(1500 * time.Millisecond)
		s.inside(0).LeaveBehind(s.inside(0).Latest())
		told()
		time.Sleep(time.Millisecond)
		require.Error(s, s.dedicated(time.Second, key).err)
		time.Sleep(100 * time.Millisecond)
		s.dedicated(time.Second, key).ok(soon)
		kept()
		time.Sleep(time.Millisecond)
		s.dedicated(time.Second, key).ok(soon)
	})
}

// TestOnlyLaneIsReplaced: a pool in which nobody waits refuses nobody because the only lane has reached its age.
func TestOnlyLaneIsReplaced(t *testing.T) {
	with := setup{client: config(pool.Laned{Lanes: 1, Options: pool.Options{MaxWaiters: -1, MaxAge: 10 * time.Second}})}
	scene(t, with, func(s *stage) {
		s.warm()
		s.node(0).Delay(40 * time.Millisecond)
		time.Sleep(time.Second)
		together(3, func(i int) {
			time.Sleep(time.Duration(i) * 30 * time.Millisecond)
			s.repeat(25*time.Second, 5*time.Millisecond, func() { s.get(2*time.Second, s.key(0, i)).ok(300 * time.Millisecond) })
		})()
	})
}

// TestClosedWhileWaiting: Close ends calls that wait until they try again.
func TestClosedWhileWaiting(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		client := s.another(cluster.Config{RetryWindow: cluster.WhileContextLasts}, s.Addrs()...)
		for i := range 3 {
			s.inside(i).Loading(time.Minute)
		}
		wait := together(8, func(i int) {
			began := time.Now()
			require.Error(s, client.Cmd(s.Context(), "SET", s.key(i%3, i), "v").Err())
			require.LessOrEqual(s, time.Since(began), 250*time.Millisecond+soon)
		})
		time.Sleep(250 * time.Millisecond)
		began := time.Now()
		require.NoError(s, client.Close())
		require.LessOrEqual(s, time.Since(began), soon)
		wait()
	})
}

// TestForsakenConnection: a user leaves a connection while a command is under way on it. The next
// user is not inside of a transaction, and does not wait.
func TestForsakenConnection(t *testing.T) {
	for _, command := range [][]string{{"MULTI"}, {"BLPOP", "nothing", "4"}} {
		scene(t, setup{client: config(pool.Fixed{Size: 1})}, func(s *stage) {
			s.warm()
			key := s.key(0, 0)
			for range 5 {
				_ = s.client.Do(s.Context(), radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
					ctx, cancel := context.WithTimeout(ctx, trip/4)
					defer cancel()
					_ = conn.Do(ctx, radix.Cmd(nil, command[0], command[1:]...))
					return nil
				}))
				s.dedicated(time.Second, key).ok(100 * time.Millisecond)
				value, _ := s.Value(key)
				require.Equal(s, "v", value)
				s.incr(time.Second, s.key(0, 1)).ok(soon)
			}
		})
	}
}

// TestLazyClient: calls of a client that has found no server fail at once, and say why. They
// succeed soon after servers have started.
func TestLazyClient(t *testing.T) {
	with := setup{client: cluster.Config{Lazy: true}, before: func(s *stage) {
		for _, n := range s.Nodes() {
			n.RefuseDials()
		}
	}}
	scene(t, with, func(s *stage) {
		s.incr(time.Second, "k").failed(0, redislanes.ErrNotSent)
		time.Sleep(2 * time.Second)
		r := s.incr(time.Second, "k")
		r.failed(0, redislanes.ErrNotSent)
		require.ErrorContains(s, r.err, "refused")
		s.Heal()
		time.Sleep(2 * time.Second)
		s.incr(time.Second, "k").ok(soon)
	})
}

// TestAbandonedConnection: a goroutine goes on using a connection that its user has given back.
// The next user does not wait for its reply.
func TestAbandonedConnection(t *testing.T) {
	scene(t, setup{client: config(pool.Fixed{Size: 1})}, func(s *stage) {
		s.warm()
		key := s.key(0, 0)
		for range 5 {
			var left sync.WaitGroup
			_ = s.client.Do(s.Context(), radix.WithConn(key, func(_ context.Context, conn radix.Conn) error {
				left.Go(func() {
					ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
					defer cancel()
					_ = conn.Do(ctx, radix.Cmd(nil, "BLPOP", s.key(0, 30), "4"))
				})
				time.Sleep(trip / 2)
				return nil
			}))
			s.dedicated(time.Second, key).ok(100 * time.Millisecond)
			s.incr(time.Second, s.key(0, 1)).ok(100 * time.Millisecond)
			left.Wait()
		}
	})
}

// TestManyCallersAtOnce: batches that gather on a lane do not wait for others.
func TestManyCallersAtOnce(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		for _, callers := range []int{18, 23, 39} {
			together(callers, func(i int) { s.incr(time.Second, s.key(0, i)).ok(2 * trip) })()
		}
	})
}
