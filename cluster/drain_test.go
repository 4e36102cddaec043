package cluster_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestLeavingNodesFailNoCall lets a node leave the map of the slots and come
// back again and again. Requests that have read the old map are on their way
// to it meanwhile: none of them may fail, also where they are lent a connection.
func TestLeavingNodesFailNoCall(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]pool.Config{"fixed": pool.Fixed{Size: 4}, "laned": pool.Laned{Lanes: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steady, leaver := newFake(t), newFake(t)
			var both atomic.Bool
			both.Store(true)
			slots := func() string {
				if both.Load() {
					return slotMap(steady.addr(), leaver.addr())
				}
				return slotMap(steady.addr())
			}
			steady.slots, leaver.slots = slots, slots
			steady.start()
			leaver.start()
			client := open(t, cluster.Config{RefreshEvery: -1, Pool: kind}, []string{steady.addr()})
			ctx := within(t, 30*time.Second)
			end := callLeaver(t, ctx, client)
			for range 30 {
				both.Store(!both.Load())
				require.NoError(t, client.Sync(ctx))
			}
			calls := end()
			t.Logf("%d calls", calls)
			require.Greater(t, calls, int64(100))
			both.Store(false)
			require.NoError(t, client.Sync(ctx))
			until(t, ctx, "the connections to the leaver are closed", func() bool { return len(client.Stats().Nodes) == 1 })
		})
	}
}

// callLeaver makes calls of each kind until the function that it returns is
// called, which returns how many they were.
func callLeaver(t *testing.T, ctx context.Context, client *cluster.Client) (end func() int64) {
	t.Helper()
	var calls atomic.Int64
	var callers sync.WaitGroup
	stop := make(chan struct{})
	p := pipeline.New(client)
	for kind, call := range map[string]func() error{
		"pipeline": func() error { p.Reset(); p.IncrBy(goodKey, 1); return p.Do(ctx) },
		"Cmd":      func() error { return client.Do(ctx, radix.Cmd(nil, "INCR", goodKey)) },
		"no key":   func() error { return client.Do(ctx, radix.Cmd(nil, "DBSIZE")) },
		"WithConn": func() error {
			return client.Do(ctx, radix.WithConn(goodKey, func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "INCR", goodKey))
			}))
		},
	} {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if err := call(); err != nil {
					t.Errorf("%s: call %d: %v", kind, calls.Load(), err)
					return
				}
			}
		})
	}
	return func() int64 {
		close(stop)
		callers.Wait()
		return calls.Load()
	}
}
