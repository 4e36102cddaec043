package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// A path is a way on which a command for the key k reaches a connection.
type path struct {
	config cluster.Config
	do     func(ctx context.Context, c *cluster.Client) error
	alone  bool // the caller decides whether the command is sent again
}

// paths are all of them. The pools are as small as they can be, so that each
// connection was used before.
func paths() map[string]path {
	fixed, laned := pool.Fixed{Size: 1}, pool.Laned{Lanes: 1, SlowLanes: 1, MaxDedicated: 1}
	incr := func(ctx context.Context, c *cluster.Client) error { return c.Do(ctx, radix.Cmd(nil, "INCR", "k")) }
	blpop := func(ctx context.Context, c *cluster.Client) error {
		return c.Do(ctx, radix.Cmd(nil, "BLPOP", "k", "1"))
	}
	onConn := func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, radix.Cmd(nil, "INCR", "k")) }
	withConn := func(ctx context.Context, c *cluster.Client) error { return c.Do(ctx, radix.WithConn("k", onConn)) }
	onNode := func(ctx context.Context, c *cluster.Client) error {
		return c.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error { return node.Do(ctx, radix.Cmd(nil, "INCR", "k")) })
	}
	return map[string]path{
		"fixed":            {config: cluster.Config{Pool: fixed}, do: incr},
		"adaptive":         {config: cluster.Config{Pool: pool.Adaptive{Min: 1, Max: 1}}, do: incr},
		"laned":            {config: cluster.Config{Pool: laned}, do: incr},
		"slow lane":        {config: cluster.Config{Pool: laned, Slow: []string{"INCR"}}, do: incr},
		"fixed, blocking":  {config: cluster.Config{Pool: fixed}, do: blpop},
		"laned, blocking":  {config: cluster.Config{Pool: laned}, do: blpop},
		"fixed, WithConn":  {config: cluster.Config{Pool: fixed}, do: withConn, alone: true},
		"laned, WithConn":  {config: cluster.Config{Pool: laned}, do: withConn, alone: true},
		"ForEachPrimary":   {config: cluster.Config{Pool: laned}, do: onNode, alone: true},
		"a node, blocking": {config: cluster.Config{Pool: laned}, do: onNodeBlocking, alone: true},
		"radix.Pipeline": {config: cluster.Config{Pool: laned}, do: func(ctx context.Context, c *cluster.Client) error {
			p := radixPipeline(radix.Cmd(nil, "INCR", "k"), radix.Cmd(nil, "INCR", "k"))
			return c.Do(ctx, p)
		}},
		"pipeline": {config: cluster.Config{Pool: laned}, do: func(ctx context.Context, c *cluster.Client) error {
			p := pipeline.New(c)
			p.Cmd("INCR", "k")
			p.Cmd("INCR", "k")
			return p.Do(ctx)
		}},
		"DoSecondary": {config: cluster.Config{Pool: laned}, do: func(ctx context.Context, c *cluster.Client) error {
			return c.DoSecondary(ctx, radix.Cmd(nil, "GET", "k"))
		}},
	}
}

func onNodeBlocking(ctx context.Context, c *cluster.Client) error {
	return c.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error {
		return node.Do(ctx, radix.Cmd(nil, "BLPOP", "k", "1"))
	})
}

// stalePaths tests each path in a world of its own, once its connections are open.
func stalePaths(t *testing.T, refuses func(cmd []string) string, test func(t *testing.T, w *names, p path, client *cluster.Client, before, after *behind)) {
	t.Helper()
	for name, p := range paths() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, before, after := failover(refuses)
				p.config.RefreshEvery = -1
				client := w.open(t, p.config)
				require.NoError(t, p.do(t.Context(), client))
				require.NotZero(t, w.runs(before))
				test(t, w, p, client, before, after)
			})
		})
	}
}

// eventually repeats a call until the map that it has hinted at is there.
func eventually(t *testing.T, client *cluster.Client, p path) (err error) {
	t.Helper()
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		if err = p.do(soon(t, 2*time.Second), client); err == nil {
			break
		}
	}
	return err
}

// TestRedirectToItself: behind a name that both nodes of a shard share, the old primary
// answers with a redirect to that name, which leads to the new one. To send the command
// there over the same connection is of no use.
func TestRedirectToItself(t *testing.T) {
	for what, refuses := range map[string]func(cmd []string) string{
		"MOVED": movedTo(shard), "ASK": redirectedTo("ASK", shard), "MOVED without a host": movedTo(":7001"),
		"READONLY": func([]string) string { return "-READONLY You can't write against a read only replica.\r\n" },
	} {
		t.Run(what, func(t *testing.T) {
			stalePaths(t, refuses, func(t *testing.T, w *names, p path, client *cluster.Client, before, after *behind) {
				ran := w.runs(before)
				w.lead(shard, after)
				w.failOver()
				err := p.do(soon(t, 2*time.Second), client)
				if p.alone { // its caller is told, and the next one has another connection
					require.ErrorContains(t, err, what[:3])
					err = eventually(t, client, p)
				}
				require.NoError(t, err)
				require.Equal(t, ran, w.runs(before), "nothing runs on the old one")
				require.NotZero(t, w.runs(after))
				require.Zero(t, client.Stats().Moved+client.Stats().Ask, "it is no hop")
			})
		})
	}
}

// TestAnotherNodeAtTheAddress: the old server goes on to answer. When the map in use names
// another node at its address, nothing reaches it any more, over connections of any age.
func TestAnotherNodeAtTheAddress(t *testing.T) {
	stalePaths(t, func([]string) string { return "" }, func(t *testing.T, w *names, p path, client *cluster.Client, before, after *behind) {
		synctest.Wait() // a dial that is refused by the old map would fail those that choose the node
		w.mu.Lock()
		w.nodes, w.epoch, w.leads[shard] = []placing{{shard, newID}}, 2, after
		w.mu.Unlock()
		require.NoError(t, client.Sync(t.Context()))
		ran, dialled := w.runs(before), w.dialled(shard)
		for range 10 {
			require.NoError(t, p.do(t.Context(), client))
			require.NoError(t, client.Sync(t.Context()))
		}
		require.Equal(t, ran, w.runs(before))
		require.Less(t, w.dialled(shard)-dialled, 10+8, "connections are replaced once, beside a dial for each refresh")
	})
}
