package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHistory: calls of one moment are in the order in which they began and ended, and calls without ok have no end.
// The first call that nothing explains is named, by the history as it was when that call ended.
func TestHistory(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, redis *Cluster) {
		calls := NewCalls(redis)
		first, lost := calls.Begin("k", "INCR"), calls.Begin("k", "INCR")
		first.End(true, 1)
		second := calls.Begin("k", "INCR") // behind the first, at the same moment
		lost.End(false, 0)
		require.NoError(t, redis.Replay([]Fault{{Kind: "Cut", Node: redis.Owner(here).Addr()}}))
		time.Sleep(ms)
		second.End(true, 7)
		calls.Begin("k", "INCR").End(true, 8)
		calls.Begin("k", "INCR")

		never := fmt.Sprint(int64(math.MaxInt64))
		known := "0 [INCR] 1 [1] 3\n1 [INCR] 2 [] " + never + "\n0 [INCR] 4 [7] 6\n"
		rejected := make(map[string]bool)
		without := func(reply string) func([]*Call) bool {
			return func(history []*Call) bool {
				var told strings.Builder
				for _, call := range history {
					_, _ = fmt.Fprintln(&told, fmt.Sprint(call.Operation()))
				}
				rejected[told.String()] = strings.Contains(told.String(), reply)
				return !rejected[told.String()]
			}
		}
		require.NoError(t, calls.History(without("[9]")))
		require.Equal(t, map[string]bool{known + "0 [INCR] 7 [8] 8\n0 [INCR] 9 [] " + never + "\n": false}, rejected)
		require.EqualError(t, calls.History(without("[7]")), "sim: k: no order of the calls explains the reply [7] to [INCR]: call 3 took 1ms, ok=true\n"+
			`  meanwhile: {Kind: "Cut", Node: "10.0.0.1:6379"},`)
		require.True(t, rejected[known], rejected)
	})
}
