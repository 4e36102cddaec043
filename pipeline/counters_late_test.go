package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
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

// A lateWorld has counters on a network that holds up one hit until the client has given up
// waiting for it.
type lateWorld struct {
	server   *model.Cluster
	counters *pipeline.Counters
	others   *cluster.Client // another program's
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	holds    atomic.Bool // the next INCRBY is held up, and all that is written with it
	ends     bool        // its connection ends
	held     chan []byte
}

func inLateWorld(t *testing.T, c pipeline.CountersConfig, run func(t *testing.T, w *lateWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w, network := &lateWorld{held: make(chan []byte, 1)}, simnet.New(1)
		defer network.Close()
		w.server = model.New(model.Options{Primaries: 1})
		node := w.server.Nodes()[0]
		network.Listen(node.Addr(), w.server.Serve(node))
		w.dial = network.Dialer("client")
		holding := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := w.dial(ctx, network, addr)
			return &holdingConn{Conn: conn, world: w}, err
		}
		w.others = open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: w.dial}}, []string{node.Addr()})
		client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: holding}, Pool: pool.Fixed{Size: 2}}, []string{node.Addr()})
		w.counters = c.New(client)
		defer w.counters.Close()
		run(t, w)
	})
}

type holdingConn struct {
	net.Conn
	world *lateWorld
	holds atomic.Bool
}

func (c *holdingConn) Write(p []byte) (int, error) {
	switch {
	case c.holds.Load():
	case bytes.Contains(p, []byte("INCRBY")) && c.world.holds.Swap(false):
		c.holds.Store(true)
		c.world.held <- bytes.Clone(p)
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

// deliver lets the server have what was held up.
func (w *lateWorld) deliver(t *testing.T) {
	t.Helper()
	synctest.Wait() // a goroutine of the client's connection has written what is held
	conn, err := w.dial(t.Context(), "tcp", w.server.Nodes()[0].Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write(<-w.held)
	require.NoError(t, err)
	time.Sleep(time.Second)
}

// lateHit has the server get a hit when the client has given it up, and looks at its key.
func (w *lateWorld) lateHit(t *testing.T, known bool, late, ttl time.Duration) {
	t.Helper()
	if known {
		require.NoError(t, w.hit(t.Context(), ttl))
		require.NoError(t, w.others.Do(t.Context(), radix.Cmd(nil, "DEL", "k")))
	}
	within, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	w.holds.Store(true)
	require.ErrorIs(t, w.hit(within, ttl), redislanes.ErrUnknownOutcome)
	time.Sleep(late)
	w.deliver(t)
	if known && !w.ends {
		require.NoError(t, w.hit(t.Context(), ttl))
	}
	_, exists := w.server.Value("k")
	left, _ := w.server.TTL("k")
	require.True(t, exists)
	require.Positive(t, left)
}

// TestLateHitExpires: a hit that the server gets after the client has given it up does not
// leave its key without a time to live. If the key was known to have one and somebody deleted it,
// the call has to ask for it. If it lacks the time for that, the next hit sets the time to live.
func TestLateHitExpires(t *testing.T) {
	const ttl = 20 * time.Minute
	for _, c := range []pipeline.CountersConfig{{}, {ExpireEveryHit: true}} {
		for _, known := range []bool{false, true} { // that the key has its time to live, which somebody deletes
			for _, ends := range []bool{false, true} {
				for _, late := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 50 * time.Second} {
					t.Run(fmt.Sprintf("%+v, known %v, ends %v, %v", c, known, ends, late), func(t *testing.T) {
						inLateWorld(t, c, func(t *testing.T, w *lateWorld) {
							w.ends = ends
							w.lateHit(t, known, late, ttl)
						})
					})
				}
			}
		}
	}
}
