package cluster_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

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
