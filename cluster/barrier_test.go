package cluster_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestNoBarrierBetweenNodes: A says nothing at all. What B redirects to C, and
// what B refuses once, is answered meanwhile, in laned pools and in others.
func TestNoBarrierBetweenNodes(t *testing.T) {
	for name, kind := range map[string]pool.Config{"laned": pool.Laned{}, "fixed": pool.Fixed{Size: 2}} {
		for _, text := range []string{"MOVED", "ASK", "LOADING"} {
			t.Run(name+" "+text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began, answered := time.Now(), new(atomic.Int64)
					moving := keyOf(1, 2)
					first := new(atomic.Bool)
					first.Store(true)
					w := newWorld(func(addr string, cmd []string) string {
						switch {
						case addr == nodeB && cmd[0] == "INCRBY" && cmd[1] == moving && text == "LOADING":
							if first.Swap(false) {
								return "-LOADING for a moment\r\n"
							}
							answered.Store(int64(time.Since(began)))
						case addr == nodeB && cmd[0] == "INCRBY" && cmd[1] == moving:
							return fmt.Sprintf("-%s %d %s\r\n", text, cluster.Slot(moving), nodeC)
						case addr == nodeC && cmd[0] == "INCRBY":
							answered.Store(int64(time.Since(began)))
						}
						return one
					}, nodeA, nodeB)
					client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: kind})
					require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
					w.set(func() { w.silent[nodeA] = true })
					p := pipeline.New(client)
					silent, moved := p.IncrBy(keyOf(0, 2), 1), p.IncrBy(moving, 1)
					require.Error(t, p.Do(soon(t, 500*time.Millisecond)))
					require.Error(t, silent.Err())
					require.NoError(t, moved.Err())
					// A caller reads from A itself for 10 ms at most, before it looks at B.
					require.Less(t, time.Duration(answered.Load()), 40*time.Millisecond)
				})
			})
		}
	}
}

// TestDeadlineIsAHint: a call that ran into its deadline makes the client fetch
// the map, which may know why; one that was cancelled does not.
func TestDeadlineIsAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return "" }, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		synctest.Wait()
		before := client.Stats().Refreshes
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
		time.Sleep(time.Second)
		require.Equal(t, before, client.Stats().Refreshes)
		require.ErrorIs(t, client.Do(soon(t, 50*time.Millisecond), radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
		time.Sleep(time.Second)
		require.Equal(t, before+1, client.Stats().Refreshes)
	})
}

// TestSecondaryFallsBack: where no replica answers, the primary is asked, within
// the deadline. A command that nobody knows and that was perhaps executed is not repeated.
func TestSecondaryFallsBack(t *testing.T) {
	for _, state := range []string{"LOADING", "MASTERDOWN", "dead", "silent", "well"} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked [2]atomic.Int64 // primary and replica
				w := newWorld(func(addr string, cmd []string) string {
					if cmd[0] == "COMMAND" {
						return "*1\r\n*-1\r\n"
					}
					if addr == nodeA {
						asked[0].Add(1)
						return "$7\r\nprimary\r\n"
					}
					asked[1].Add(1)
					switch state {
					case "LOADING", "MASTERDOWN":
						return "-" + state + " not now\r\n"
					case "silent":
						return ""
					}
					return "$7\r\nreplica\r\n"
				}, nodeA)
				w.slots = mapOf(nodeA, nodeB)
				client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
				w.set(func() { w.dead[nodeB] = state == "dead" })
				if state == "silent" {
					err := client.DoSecondary(soon(t, 200*time.Millisecond), radix.Cmd(nil, "X.READ", "k"))
					require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
					require.Zero(t, asked[0].Load(), "it may have run")
				}
				for range 3 {
					var got string
					began := time.Now()
					require.NoError(t, client.DoSecondary(soon(t, 200*time.Millisecond), radix.Cmd(&got, "GET", "k")))
					if state == "well" {
						require.Equal(t, "replica", got)
						continue
					}
					require.Equal(t, "primary", got)
					if state != "silent" {
						require.Less(t, time.Since(began), 5*time.Millisecond)
					}
				}
			})
		})
	}
}

// TestSlowPrimaryIsAskedOnce: a replica refuses, and the primary takes more than
// half of the deadline. That is no reason to ask it again.
func TestSlowPrimaryIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		w := newWorld(func(addr string, _ []string) string {
			if addr == nodeB {
				return "-LOADING not now\r\n"
			}
			asked.Add(1)
			time.Sleep(150 * time.Millisecond)
			return "$7\r\nprimary\r\n"
		}, nodeA)
		w.slots = mapOf(nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		require.NoError(t, client.DoSecondary(soon(t, 200*time.Millisecond), radix.Cmd(nil, "GET", "k")))
		require.EqualValues(t, 1, asked.Load())
	})
}
