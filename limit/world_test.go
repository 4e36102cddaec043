package limit

import (
	"context"
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
)

// A world is a Redis Cluster in memory, whose time is that of a synctest bubble.
type world struct {
	net    *simnet.Network
	model  *model.Cluster
	client *cluster.Client
}

// newWorld makes three primaries, half a millisecond away, and a client.
func newWorld(t *testing.T) *world { return newTracedWorld(t, nil) }

func newTracedWorld(t *testing.T, trace *redislanes.Trace) *world {
	t.Helper()
	w := &world{net: simnet.New(1), model: model.New(model.Options{Seed: 1, Primaries: 3})}
	w.net.Impose("", "", simnet.Conditions{Latency: 250 * time.Microsecond})
	var addrs []string
	for _, n := range w.model.Nodes() {
		w.net.Listen(n.Addr(), w.model.Serve(n))
		addrs = append(addrs, n.Addr())
	}
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, RefreshEvery: -1, Trace: trace}.New(t.Context(), addrs)
	require.NoError(t, err)
	w.client = client
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		w.net.Close()
	})
	return w
}

func (w *world) limiter(t *testing.T, c Config) *Limiter {
	t.Helper()
	l, err := c.New(w.client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func (l *Limiter) must(t *testing.T, r Rule) *Limit {
	t.Helper()
	limit, err := r.New(l)
	require.NoError(t, err)
	return limit
}

// refuseAll has all nodes refuse the commands with the text, or run them again if it is empty.
func (w *world) refuseAll(text model.Refusal, commands ...string) {
	for _, n := range w.model.Nodes() {
		for _, command := range commands {
			n.Refuse(command, text, 0)
		}
	}
}

// count returns what is counted on the key in the window of now.
func (l *Limiter) count(t *testing.T, of *Limit, key string) int64 {
	t.Helper()
	n, err := l.counted(of, key)
	require.NoError(t, err)
	return n
}

func (l *Limiter) counted(of *Limit, key string) (n int64, err error) {
	name, _ := of.names(of.number(of.windowAt(time.Now())), key)
	err = l.client.Do(context.Background(), radix.Cmd(&n, "GET", name))
	return n, err
}

// keys returns how many keys there are.
func (w *world) keys(t *testing.T) int {
	t.Helper()
	var n atomic.Int64
	require.NoError(t, w.client.ForEachPrimary(t.Context(), func(ctx context.Context, node radix.Client) error {
		var some int
		err := node.Do(ctx, radix.Cmd(&some, "DBSIZE"))
		n.Add(int64(some))
		return err
	}))
	return int(n.Load())
}
