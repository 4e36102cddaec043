package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
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
	"github.com/redislanes/redislanes/redistest"
)

// TestExpireIsSentOnce: a key that is known to have its time to live is not sent it
// again, and one that was deleted meanwhile is.
func TestExpireIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		for i := range 100 {
			require.EqualValues(t, i+1, w.hitOnce(t, "k", 1, time.Hour))
		}
		require.Equal(t, 1, w.Calls(0, "SET"))
		require.Equal(t, 1, w.Calls(0, "PTTL"))
		require.Zero(t, w.Calls(0, "EXPIRE"))

		for i, by := range []int64{1, -3} {
			w.do(t, "DEL", "k")
			require.Equal(t, by, w.hitOnce(t, "k", by, time.Hour))
			require.Equal(t, time.Hour, w.ttl("k"))
			require.Equal(t, 1+i, w.Calls(0, "EXPIRE"))
			w.hitOnce(t, "k", 1, time.Hour)
			require.Equal(t, 1, w.Calls(0, "SET"), "it is known again")
		}

		w.do(t, "DEL", "k")
		w.hitOnce(t, "k", 1, 0)
		require.Zero(t, w.ttl("k"))
		w.hitOnce(t, "k", 1, time.Hour)
		require.Equal(t, time.Hour, w.ttl("k"), "the hit that made the key gave it none")

		w.do(t, "SET", "zero", "0", "EX", "600")
		w.hitOnce(t, "zero", 1, time.Hour)
		w.do(t, "DECR", "zero")
		require.EqualValues(t, 1, w.hitOnce(t, "zero", 1, time.Hour))
		require.Equal(t, 10*time.Minute, w.ttl("zero"), "another program has brought it to 0")

		before := w.Calls(0, "SET")
		w.hitOnce(t, "short", 1, 15*time.Millisecond)
		w.hitOnce(t, "short", 1, 15*time.Millisecond)
		require.Equal(t, before+2, w.Calls(0, "SET"), "it may have expired between two hits")
	})
}

// TestShorterTimeToLiveIsRemembered: a key that a hit gives less time to live than it had is
// believed in for less time, too.
func TestShorterTimeToLiveIsRemembered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl, passes time.Duration
		known       bool
	}{
		{time.Hour, 6 * time.Second, true},
		{time.Second, 400 * time.Millisecond, true},
		{time.Second, 600 * time.Millisecond, false},
		{15 * time.Millisecond, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newTower(t, 1, pipeline.CountersConfig{ExpireEveryHit: true})
			w.hitOnce(t, "k", 1, time.Hour)
			w.hitOnce(t, "k", 1, c.ttl)
			require.Equal(t, 1, w.Calls(0, "SET"))
			time.Sleep(c.passes)
			w.hitOnce(t, "k", 1, time.Hour)
			require.Equal(t, c.known, w.Calls(0, "SET") == 1, c)
		})
	}
}

// TestRefusedKeyIsNotKnown: a hit that was refused says nothing about the next one.
func TestRefusedKeyIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, refused := range [][]string{{"INCRBY"}, {"SET", "INCRBY"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newTower(t, 1, pipeline.CountersConfig{})
			w.refuse(model.OutOfSpace, 0, refused...)
			require.ErrorContains(t, w.counters.Hit(within(t, 10*time.Second), []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}}), "OOM")
			w.refuse("", 0, refused...)
			w.do(t, "DEL", "k")
			w.do(t, "INCRBY", "k", "40") // without a time to live
			w.hitOnce(t, "k", 2, time.Hour)
			require.Equal(t, time.Hour, w.ttl("k"), refused)
		})
	}
}

// TestNewPrimaryIsSentExpire: what is known of a key at one node is not believed of
// another, to which its time to live may not have been replicated.
func TestNewPrimaryIsSentExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 2, pipeline.CountersConfig{})
		key := redistest.KeysInSlots(2, "moves")[0]
		for i := range 6 {
			w.hitOnce(t, key, 1, time.Hour)
			w.move(key, (i+1)%2)
			w.do(t, "SET", key, strconv.Itoa(2*i+1)) // without a time to live
			require.EqualValues(t, 2*(i+1), w.hitOnce(t, key, 1, time.Hour))
			require.Equal(t, time.Hour, w.ttl(key))
		}
	})
}

// TestLooksTakeOneTrip: a key that is at 0 looks to a hit which adds nothing as if it
// had not been there. What is about its time to live goes along each time, and not behind it.
func TestLooksTakeOneTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		before := w.Requests()
		for i := range 10 {
			require.Zero(t, w.hitOnce(t, "k", 0, time.Hour))
			require.Equal(t, time.Hour, w.ttl("k"))
			require.Equal(t, before+i+1, w.Requests())
		}
		for i := range 10 {
			require.EqualValues(t, i+1, w.hitOnce(t, "k", 1, time.Hour))
			require.EqualValues(t, i+1, w.hitOnce(t, "k", 0, time.Hour))
			require.Equal(t, before+10+2*(i+1), w.Requests())
		}
	})
}

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
