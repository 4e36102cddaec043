package cluster_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
)

// TestDedicatedActionsKeepTheWindow: what needs a connection of its own follows the
// same rule as other commands, and shares its outages with them.
func TestDedicatedActionsKeepTheWindow(t *testing.T) {
	for _, m := range maladies {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, ill := m.sick()
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				w.set(func() { w.dead[nodeA] = m.text == "" })
				dedicated := func(key string) (time.Duration, error) { return timed(t, client, dedicatedCmd(key, "GET", key)) }
				blocking := func() (time.Duration, error) { return timed(t, client, radix.Cmd(nil, "BLPOP", keyOf(0, 2), "1")) }
				if m.text == "" { // an action that has begun is not repeated
					took, err := dedicated(keyOf(0, 2))
					require.Error(t, err)
					require.InDelta(t, 1, took.Seconds(), 0.1)
				}
				_, _ = blocking()
				time.Sleep(time.Second)
				most := 5 * time.Millisecond
				if m.own {
					most = 1100 * time.Millisecond
				}
				for _, call := range []func() (time.Duration, error){blocking, func() (time.Duration, error) { return dedicated(keyOf(0, 2)) }} {
					took, err := call()
					require.Error(t, err)
					require.Less(t, took, most)
				}
				_, err := dedicated(keyOf(1, 2))
				require.NoError(t, err)
				ill.Store(false)
				w.set(func() { delete(w.dead, nodeA) })
				time.Sleep(10 * time.Second)
				_, err = dedicated(keyOf(0, 2))
				require.NoError(t, err)
			})
		})
	}
}

// TestDedicatedEndsHalfSent: if one command of an exchange has run, or may have, the exchange is not
// sent again. Then its outcome is unknown.
func TestDedicatedEndsHalfSent(t *testing.T) {
	for name, c := range map[string]struct {
		replies bool // to the first command, before the connection ends
		want    error
	}{
		"before a reply": {false, redislanes.ErrUnknownOutcome},
		"behind a reply": {true, redislanes.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := new(atomic.Int64)
				var w *world
				w = newWorld(func(string, []string) string {
					if ran.Add(1) > 1 {
						return one
					}
					w.mu.Lock()
					conns := slices.Collect(maps.Keys(w.conns))
					w.mu.Unlock()
					for _, conn := range conns {
						if c.replies {
							_, _ = io.WriteString(conn, one)
						}
					}
					time.Sleep(time.Millisecond)
					w.set(func() { w.dead[nodeA] = true }) // before the next command was read
					w.set(func() { delete(w.dead, nodeA) })
					return one
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Fixed{Size: 1}})
				p := radix.NewPipeline()
				p.Append(radix.Cmd(nil, "BLMOVE", "{k}a", "{k}b", "LEFT", "RIGHT", "1"))
				p.Append(radix.Cmd(nil, "SET", "{k}n", strings.Repeat("x", 1<<20)))
				require.ErrorIs(t, client.Do(soon(t, 3*time.Second), p), c.want)
				require.EqualValues(t, 1, ran.Load())
			})
		})
	}
}

// TestDedicatedToSecondary: a connection to a replica that is down is the primary's.
func TestDedicatedToSecondary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(addr string, _ []string) string {
			return map[string]string{nodeA: "$7\r\nprimary\r\n", nodeB: "$7\r\nreplica\r\n"}[addr]
		}, nodeA)
		w.slots = mapOf(nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
		get := func() (got string) {
			require.NoError(t, client.DoSecondary(soon(t, time.Second), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(&got, "GET", "k"))
			})))
			return got
		}
		require.Equal(t, "replica", get())
		w.set(func() { w.dead[nodeB] = true })
		synctest.Wait() // until the client has seen its connections end
		require.Equal(t, "primary", get())
	})
}
