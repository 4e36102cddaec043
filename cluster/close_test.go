package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// TestCloseEndsWaits: calls that wait until they try again end with the client, and
// not when it would have been time to. Those without a server name why they had none.
func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	refuse := func(string, []string) string { return "-CLUSTERDOWN Hash slot not served\r\n" }
	calls := map[string]func(ctx context.Context, c *cluster.Client) error{
		"pipeline": func(ctx context.Context, c *cluster.Client) error {
			p := pipeline.New(c)
			p.IncrBy(keyOf(0, 2), 1)
			p.IncrBy(keyOf(1, 2), 1)
			return p.Do(ctx)
		},
		"action": func(ctx context.Context, c *cluster.Client) error { return c.Do(ctx, radix.Cmd(nil, "INCR", "key")) },
		"unknown": func(ctx context.Context, c *cluster.Client) error { // which servers are asked about
			return c.Do(ctx, radix.Cmd(nil, "NOSUCH", "key"))
		},
		"dedicated": func(ctx context.Context, c *cluster.Client) error {
			return c.Do(ctx, radix.Cmd(nil, "BLPOP", "key", "1"))
		},
	}
	for name, call := range calls {
		dead, silent, after := name == "action", name == "unknown", 10*time.Second
		if silent {
			after = 100 * time.Millisecond // while a question is out
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(refuse, nodeA, nodeB)
				client := w.open(t, cluster.Config{RetryWindow: cluster.WhileContextLasts})
				w.set(func() {
					w.dead[nodeA], w.dead[nodeB], w.silent[nodeA], w.silent[nodeB] = dead, dead, silent, silent
				})
				const callers = 10 // each waits up to a quarter of a second between two tries
				ended := make(chan time.Time, callers)
				for range callers {
					go func() {
						if call(t.Context(), client) != nil {
							ended <- time.Now()
						}
					}()
				}
				time.Sleep(after)
				closed := time.Now()
				require.NoError(t, client.Close())
				for range callers {
					require.Zero(t, (<-ended).Sub(closed))
				}
			})
		})
	}
}

// TestLazyClose: Close ends a client that never had a server.
func TestLazyClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil, nodeA)
		w.silent[nodeA] = true
		client, err := cluster.Config{Lazy: true, Dialer: lanes.Dialer{NetDial: w.dial}}.New(t.Context(), []string{nodeA})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, client.Close())
		require.ErrorIs(t, client.Do(t.Context(), radix.Cmd(nil, "PING")), redislanes.ErrClosed)
	})
}
