package scenes

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest/sim"
)

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

// TestManyCallersAtOnce: batches that gather on a lane do not wait for others. Hits on one key take a round trip or two.
func TestManyCallersAtOnce(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		for _, callers := range []int{18, 23, 39} {
			together(callers, func(i int) { s.incr(time.Second, s.key(0, i)).ok(2 * trip) })()
		}
		s.hit(time.Second, s.key(0, 0)).ok(soon)
		for range 3 {
			together(6, func(int) { s.hit(time.Second, s.key(0, 0)).ok(2 * trip) })()
			time.Sleep(time.Millisecond)
		}
	})
}
