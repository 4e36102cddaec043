package scenes

import (
	"context"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pool"
)

// TestConnectionsAreCounted: each connection that was dialled is open or was closed, whenever
// servers hang up and whatever users do to it.
func TestConnectionsAreCounted(t *testing.T) {
	scene(t, setup{client: cluster.Config{Pool: pool.Adaptive{Min: 1, Max: 8, IdleTimeout: time.Second}}}, func(s *stage) {
		s.warm()
		for after := time.Duration(0); after < 20*trip; after += trip / 5 {
			lift := s.net.Impose("", s.node(0).Addr(), simnet.Conditions{HangUpAfter: 1 + after})
			together(8, func(i int) { s.incr(time.Second, s.key(0, i)) })()
			lift()
		}
		time.Sleep(10 * time.Second) // and is back
		s.do(time.Second, radix.WithConn(s.key(0, 0), func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(nil, "SELECT", "0"))
		})).ok(soon)
		time.Sleep(time.Minute)
		p := s.stats(0)
		balance := int64(p.Dials) - int64(p.DialErrors) - int64(p.Open)
		for _, closed := range p.Closes {
			balance -= int64(closed)
		}
		require.Zero(s, balance, "%+v", p)
		require.Equal(s, 1, p.Open, "nobody calls")
		require.EqualValues(s, 1, p.Closes["unclean"], "SELECT: %v", p.Closes)
		connected := 0
		for _, n := range s.client.Stats().Nodes {
			connected += n.Pool.Open
		}
		require.Equal(s, s.net.Open(""), connected)
	})
}

// TestNothingStaysInFlight: batches on connections that broke no longer count as in flight.
func TestNothingStaysInFlight(t *testing.T) {
	scenes(t, map[string]setup{
		"lanes": {}, "fixed": {client: config(pool.Fixed{Size: 4})},
	}, func(s *stage) {
		s.warm()
		for range 5 {
			s.node(0).Freeze()
			wait := together(20, func(i int) { s.incr(100*time.Millisecond, s.key(0, i)) })
			time.Sleep(10 * time.Millisecond)
			s.node(0).Cut()
			wait()
			s.node(0).Heal()
			time.Sleep(2 * time.Second)
		}
		time.Sleep(time.Minute)
		s.incr(time.Second, s.key(0, 0)).ok(soon)
		p := s.stats(0)
		require.Zero(s, p.InFlight()+p.InUse+p.Waiters, "%+v", p)
	})
}
