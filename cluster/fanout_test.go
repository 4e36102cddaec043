package cluster_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// TestGoroutinesDeadline: the same with a goroutine for each node, whichever is
// late. The other one's reply is there, and the late one, which comes in the end,
// is none of the pipeline's next commands'.
func TestGoroutinesDeadline(t *testing.T) {
	for name, late := range map[string]int{"goroutine": 0, "caller": 1} { // the last node's is the caller's
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { goroutinesDeadline(t, late) })
		})
	}
}

func goroutinesDeadline(t *testing.T, late int) {
	var delays sync.Map // of the nodes
	nodes := [...]string{nodeA, nodeB}
	w := newWorld(func(addr string, _ []string) string {
		if d, ok := delays.Load(addr); ok {
			time.Sleep(d.(time.Duration))
		}
		if addr == nodes[late] {
			return ":99\r\n"
		}
		return one
	}, nodeA, nodeB)
	client := w.open(t, cluster.Config{RefreshEvery: -1})
	keys := [...]string{keyOf(0, 2), keyOf(1, 2)}
	for _, key := range keys {
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", key)))
	}
	delays.Store(nodes[late], 100*time.Millisecond)
	p := pipeline.Config{Goroutines: true}.New(client)
	replies := [...]pipeline.Reply{p.IncrBy(keys[0], 1), p.IncrBy(keys[1], 1)}
	began := time.Now()
	require.Error(t, p.Do(soon(t, 50*time.Millisecond)))
	require.Equal(t, 50*time.Millisecond, time.Since(began))
	require.ErrorIs(t, replies[late].Err(), redislanes.ErrUnknownOutcome)
	total, err := replies[1-late].Int()
	require.NoError(t, err)
	require.EqualValues(t, 1, total)

	delays.Store(nodes[1-late], 200*time.Millisecond)
	p.Reset()
	again := [...]pipeline.Reply{p.IncrBy(keys[1-late], 1), p.IncrBy(keys[1-late], 1)}
	require.NoError(t, p.Do(soon(t, time.Second)))
	for _, reply := range again {
		total, err = reply.Int()
		require.NoError(t, err)
		require.EqualValues(t, 1, total)
	}
}

// TestGoroutinesAreJudged: what was redirected or refused is sent again, as with
// the other ways.
func TestGoroutinesAreJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused sync.Map // keys
		w := newWorld(func(_ string, cmd []string) string {
			if _, again := refused.LoadOrStore(cmd[1], true); !again {
				return "-TRYAGAIN not now\r\n"
			}
			return one
		}, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.Config{Goroutines: true}.New(client)
		a, b := p.IncrBy(keyOf(0, 2), 1), p.IncrBy(keyOf(1, 2), 1)
		require.NoError(t, p.Do(soon(t, time.Second)))
		require.NoError(t, a.Err())
		require.NoError(t, b.Err())
		require.EqualValues(t, 2, client.Stats().Refused)
		require.Equal(t, 4, p.Trips())
	})
}

// TestTwoWaysAtOnce are an error of Do, before anything is sent.
func TestTwoWaysAtOnce(t *testing.T) {
	f := newFake(t)
	f.start()
	client := open(t, cluster.Config{RefreshEvery: -1}, []string{f.addr()})
	p := pipeline.Config{Goroutines: true, Sequential: true}.New(client)
	reply := p.IncrBy("k", 1)
	require.ErrorContains(t, p.Do(t.Context()), "Config.Sequential and Config.Goroutines are both set")
	require.ErrorIs(t, reply.Err(), redislanes.ErrNotSent)
}

// TestSequentialDeadline: the first of two nodes is silent. At the context's end
// its command has an unknown outcome, that for the other was not sent, and nothing
// of both is left for the pipeline's next commands.
func TestSequentialDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(1, 2))))
		w.set(func() { w.silent[nodeA] = true })
		p := pipeline.Config{Sequential: true}.New(client)
		silent, other := p.IncrBy(keyOf(0, 2), 1), p.IncrBy(keyOf(1, 2), 1)
		require.Error(t, p.Do(soon(t, 50*time.Millisecond)))
		require.ErrorIs(t, silent.Err(), redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, other.Err(), redislanes.ErrNotSent)

		w.set(func() { w.silent[nodeA] = false })
		p.Reset()
		again := p.IncrBy(keyOf(1, 2), 1)
		require.NoError(t, p.Do(soon(t, time.Second)))
		total, err := again.Int()
		require.NoError(t, err)
		require.EqualValues(t, 1, total)
	})
}
