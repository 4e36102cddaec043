package scenes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/peek"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest/sim"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	trip   = 500 * time.Microsecond  // a round trip
	soon   = 20 * time.Millisecond   // more than a call takes that waits for nothing
	window = time.Second             // Config.RetryWindow
	known  = 1100 * time.Millisecond // until a silent server is known to be: two silences of 0.5 s
)

// A stage is a cluster of three primaries with a replica each, and a client.
type stage struct {
	*testing.T
	*sim.Cluster
	model    *model.Cluster
	net      *simnet.Network
	dial     dial
	client   *cluster.Client
	counters *pipeline.Counters
}

type dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// setup is what a scene wants otherwise.
type setup struct {
	servers sim.Config
	client  cluster.Config
	seeds   func(redis *sim.Cluster) []string
}

// scene plays a scene in virtual time.
func scene(t *testing.T, with setup, play func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, Cluster: sim.Start(t, with.servers)}
		s.model, s.net = peek.Into(s.Cluster)
		s.dial = s.Dial
		addrs := s.Addrs()
		if with.seeds != nil {
			addrs = with.seeds(s.Cluster)
		}
		s.client = s.another(with.client, addrs...)
		s.counters = pipeline.CountersConfig{}.New(s.client)
		t.Cleanup(func() { require.NoError(t, s.counters.Close()) })
		play(s)
	})
}

// scenes plays a scene with each of the setups, and each with each of the cases.
func scenes(t *testing.T, setups map[string]setup, play func(s *stage)) {
	for name, with := range setups {
		t.Run(name, func(t *testing.T) { scene(t, with, play) })
	}
}

func each[C any](t *testing.T, with setup, cases map[string]C, play func(s *stage, c C)) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { scene(t, with, func(s *stage) { play(s, c) }) })
	}
}

// own plays a scene in virtual time with servers that package redistest/sim does not have. It
// makes no client.
func own(t *testing.T, servers model.Options, play func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, model: model.New(servers), net: simnet.New(1)}
		t.Cleanup(s.net.Close)
		s.dial = s.net.Dialer("client")
		s.net.Impose("", "", simnet.Conditions{Latency: trip / 2})
		s.model.GossipLag(100 * time.Millisecond)
		play(s)
	})
}

// lead makes an address lead to a node.
func (s *stage) lead(addr string, n *model.Node) { s.net.Listen(addr, s.model.Serve(n)) }

// another makes another client.
func (s *stage) another(c cluster.Config, addrs ...string) *cluster.Client {
	s.Helper()
	c.Dialer.NetDial = s.dial
	c.SentinelDialer.NetDial = s.dial
	client, err := c.New(s.Context(), addrs)
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, client.Close()) })
	return client
}

// node and inside return a node, of which the first three are primaries.
func (s *stage) node(i int) *sim.Node     { return s.Nodes()[i] }
func (s *stage) inside(i int) *model.Node { return s.model.Nodes()[i] }

// key returns the n-th key whose slot the node has.
func (s *stage) key(node, n int) string {
	for i := 0; ; i++ {
		key := fmt.Sprintf("k%d", i)
		if s.Owner(key) == s.node(node) {
			if n--; n < 0 {
				return key
			}
		}
	}
}

// A result is what became of a call.
type result struct {
	s    *stage
	err  error
	took time.Duration
}

// call makes a call with so much time.
func (s *stage) call(within time.Duration, run func(ctx context.Context) error) result {
	ctx, cancel := context.WithTimeout(s.Context(), within)
	defer cancel()
	began := time.Now()
	err := run(ctx)
	return result{s, err, time.Since(began)}
}

// cmd makes a call of one command.
func (s *stage) cmd(within time.Duration, name string, args ...any) result {
	return s.call(within, func(ctx context.Context) error { return s.client.Cmd(ctx, name, args...).Err() })
}

// do makes a call that is one radix action.
func (s *stage) do(within time.Duration, action radix.Action) result {
	return s.call(within, func(ctx context.Context) error { return s.client.Do(ctx, action) })
}

func (s *stage) incr(within time.Duration, key string) result {
	return s.cmd(within, "INCRBY", key, 1)
}

func (s *stage) get(within time.Duration, key string) result { return s.cmd(within, "GET", key) }

// secondary reads a key from a replica.
func (s *stage) secondary(within time.Duration, key string) result {
	return s.call(within, func(ctx context.Context) error {
		return s.client.DoSecondary(ctx, radix.Cmd(new(radix.Maybe), "GET", key))
	})
}

// hits counts keys, and hit one, which has a time to live.
func (s *stage) hits(within time.Duration, hits ...pipeline.Hit) result {
	return s.call(within, func(ctx context.Context) error { return s.counters.Hit(ctx, hits) })
}

func (s *stage) hit(within time.Duration, key string) result {
	return s.hits(within, pipeline.Hit{Key: key, By: 1, TTL: time.Hour})
}

// alone performs actions, one after the other, over a dedicated connection.
func (s *stage) alone(within time.Duration, key string, actions ...radix.Action) result {
	return s.do(within, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		for _, a := range actions {
			if err := conn.Do(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}))
}

// dedicated sets a key over a dedicated connection.
func (s *stage) dedicated(within time.Duration, key string) result {
	return s.alone(within, key, radix.Cmd(nil, "SET", key, "v"))
}

func (s *stage) sync(within time.Duration) result { return s.call(within, s.client.Sync) }

// ok fails the test unless the call succeeded, within the time.
func (r result) ok(within time.Duration) {
	r.s.Helper()
	require.NoError(r.s, r.err)
	require.LessOrEqual(r.s, r.took, within)
}

// failed fails the test unless the call failed, within the time, with one of the errors.
func (r result) failed(within time.Duration, errs ...error) {
	r.s.Helper()
	require.Error(r.s, r.err)
	require.LessOrEqual(r.s, r.took, within, "%v", r.err)
	for _, err := range errs {
		if errors.Is(r.err, err) {
			return
		}
	}
	require.Empty(r.s, errs, "%v", r.err)
}

// warm makes connections to all primaries.
func (s *stage) warm() {
	for i := range 3 {
		for n := range 8 {
			s.incr(time.Second, s.key(i, n)).ok(time.Second)
		}
	}
	time.Sleep(2 * time.Second)
}

// repeat calls run again and again for a time, with a pause in between.
func (s *stage) repeat(d, pause time.Duration, run func()) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(pause) {
		run()
	}
}

// together starts calls and returns what waits for them.
func together(n int, run func(i int)) (wait func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i) })
	}
	return all.Wait
}

// dials returns how many dials to the node have begun.
func (s *stage) dials(node int) int { return s.net.Dials(s.node(node).Addr()) }

// stats returns what the client says of the node's pool. A caller may have its reply before the pool
// notes that the connection is free.
func (s *stage) stats(node int) redislanes.PoolStats {
	synctest.Wait()
	for _, n := range s.client.Stats().Nodes {
		if n.Pool.Addr == s.node(node).Addr() && n.Role == "primary" {
			return n.Pool
		}
	}
	return redislanes.PoolStats{}
}
