package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// A lateWorld has counters of which the network loses a hit, which the server gets later, from
// another connection.
type lateWorld struct {
	server   *model.Cluster
	counters *pipeline.Counters
	others   *cluster.Client // another program's
	loses    atomic.Bool     // the next INCRBY is lost, and all that is written behind it
	ends     bool            // its connection ends
	expires  atomic.Int32    // EXPIREs that were executed
}

func inLateWorld(t *testing.T, c pipeline.CountersConfig, run func(t *testing.T, w *lateWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w, network := new(lateWorld), simnet.New(1)
		defer network.Close()
		w.server = model.New(model.Options{Primaries: 1, Executed: func(e model.Execution) {
			if strings.EqualFold(string(e.Args[0]), "EXPIRE") {
				w.expires.Add(1)
			}
		}})
		node := w.server.Nodes()[0]
		network.Listen(node.Addr(), w.server.Serve(node))
		dial := network.Dialer("client")
		lossy := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &lossyConn{Conn: conn, world: w}, err
		}
		w.others = open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: dial}}, []string{node.Addr()})
		client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: lossy}, Pool: pool.Fixed{Size: 2}}, []string{node.Addr()})
		w.counters = pipeline.NewCounters(client, c)
		defer w.counters.Close()
		run(t, w)
	})
}

type lossyConn struct {
	net.Conn
	world *lateWorld
	lost  atomic.Bool
}

func (c *lossyConn) Write(p []byte) (int, error) {
	switch {
	case c.lost.Load():
	case bytes.Contains(p, []byte("INCRBY")) && c.world.loses.Swap(false):
		c.lost.Store(true)
		if c.world.ends {
			_ = c.Close()
		}
	default:
		return c.Conn.Write(p)
	}
	return len(p), nil
}

func (w *lateWorld) hit(ctx context.Context, ttl time.Duration) error {
	return w.counters.Hit(ctx, []pipeline.Hit{{Key: "k", By: 1, TTL: ttl}})
}

// loseHit makes a hit of which the outcome is unknown.
func (w *lateWorld) loseHit(t *testing.T, ttl time.Duration) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	if !w.ends {
		ctx = within(t, 100*time.Millisecond)
	}
	w.loses.Store(true)
	require.ErrorIs(t, w.hit(ctx, ttl), redislanes.ErrUnknownOutcome)
}

func (w *lateWorld) do(t *testing.T, args ...string) {
	t.Helper()
	require.NoError(t, w.others.Do(t.Context(), radix.Cmd(nil, args[0], args[1:]...)))
}

// TestLateHitExpires: a hit that the server gets when the client has given it up does not
// leave its key without a time to live, though EXPIRE has overtaken it, and found no key.
func TestLateHitExpires(t *testing.T) {
	const ttl = 20 * time.Minute
	for _, known := range []bool{false, true} { // that the key has its time to live, which somebody deletes
		for _, ends := range []bool{false, true} {
			for _, late := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 50 * time.Second} {
				t.Run(fmt.Sprintf("known %v, ends %v, %v", known, ends, late), func(t *testing.T) {
					inLateWorld(t, pipeline.CountersConfig{}, func(t *testing.T, w *lateWorld) {
						if w.ends = ends; known {
							require.NoError(t, w.hit(t.Context(), ttl))
							w.do(t, "DEL", "k")
						}
						w.loseHit(t, ttl)
						time.Sleep(late)
						w.do(t, "INCRBY", "k", "1")
						time.Sleep(10 * time.Second)
						left, _ := w.server.TTL("k")
						require.Positive(t, left)
						require.Zero(t, w.counters.Debts())
					})
				})
			}
		}
	}
}

// TestHitsThatNeverRun: the key of a hit that has not run is not asked for without end, and
// rarely, the longer it is ago; one that has its time to live not before that is over.
func TestHitsThatNeverRun(t *testing.T) {
	inLateWorld(t, pipeline.CountersConfig{}, func(t *testing.T, w *lateWorld) {
		w.loseHit(t, time.Hour)
		time.Sleep(50 * time.Second)
		require.Equal(t, 1, w.counters.Debts())
		time.Sleep(20 * time.Second)
		require.Zero(t, w.counters.Debts())
		require.Less(t, w.expires.Load(), int32(25))
	})
	for _, every := range []bool{false, true} {
		inLateWorld(t, pipeline.CountersConfig{ExpireEveryHit: every}, func(t *testing.T, w *lateWorld) {
			const ttl = 20 * time.Second
			require.NoError(t, w.hit(t.Context(), ttl))
			w.loseHit(t, ttl)
			time.Sleep(ttl - time.Second)
			require.EqualValues(t, 2, w.expires.Load(), "it has its time to live")
			time.Sleep(2 * time.Second)
			_, exists := w.server.Value("k")
			require.False(t, exists, "no debt prolongs its life")
			require.Equal(t, 1, w.counters.Debts(), "it may come to life again")
			w.do(t, "INCRBY", "k", "1")
			time.Sleep(10 * time.Second)
			left, _ := w.server.TTL("k")
			require.Positive(t, left)
		})
	}
	inLateWorld(t, pipeline.CountersConfig{ExpireEveryHit: true}, func(t *testing.T, w *lateWorld) {
		w.loseHit(t, 20*time.Second)
		time.Sleep(time.Second)
		w.do(t, "INCRBY", "k", "1")
		time.Sleep(15 * time.Second) // by now it has its time to live
		w.do(t, "EXPIRE", "k", "11")
		time.Sleep(12 * time.Second)
		_, exists := w.server.Value("k")
		require.False(t, exists, "its EXPIRE, when it is asked for again, does not move its end")
	})
}
