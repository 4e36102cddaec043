package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCounters: what is wrong names the key, the call, and the fault during it or before it.
func TestCounters(t *testing.T) {
	const fault = `{Kind: "Cut", Node: "10.0.0.3:6379"},`
	for name, c := range map[string]struct {
		set  string
		oks  []bool // of the calls
		want string
	}{
		"nothing":             {"0", []bool{false}, "<nil>"},
		"counted":             {"2", []bool{true, false, true}, "<nil>"},
		"unknown and counted": {"2", []bool{true, false}, "<nil>"},
		"counted twice":       {"2", []bool{false}, "sim: b: 2 hits were counted in 1 calls: call 1 took 1ms, ok=false\n  meanwhile: " + fault},
		"too many":            {"3", []bool{false, true}, "sim: b: 3 hits were counted in 2 calls: call 1 took 1ms, ok=false\n  meanwhile: " + fault},
		"lost":                {"0", []bool{false, true, false}, "sim: b: 0 hits were counted, and 1 calls ended with ok: call 2 took 1ms, ok=true\n  before it: " + fault},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(t *testing.T, redis *Cluster) {
				dial(t, redis, redis.Owner(here).Addr()).say("SET " + here + " " + c.set)
				calls := NewCalls(redis)
				for _, ok := range c.oks {
					require.NoError(t, redis.Replay([]Fault{{Kind: "Cut", Node: redis.Owner(there).Addr()}}))
					if ok {
						time.Sleep(ms) // the fault is over
					}
					call := calls.Begin(here)
					time.Sleep(ms)
					call.End(ok)
				}
				require.Equal(t, c.want, fmt.Sprint(calls.Counters()))
			})
		})
	}
}

// TestLimit: calls count that began and ended in a window, of one key.
func TestLimit(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, redis *Cluster) {
		calls := NewCalls(redis)
		require.NotEqual(t, calls.Once("x").Key, calls.Once("x").Key)
		for i := range 6 {
			call := calls.Begin("k")
			calls.Begin("other").End(i > 4)
			time.Sleep(300 * ms)
			call.End(i != 3)
		}
		require.NoError(t, calls.Limit(3, 901*ms))
		require.EqualError(t, calls.Limit(2, 901*ms), "sim: k: 3 calls were allowed within 900ms, the limit is 2: call 3 took 300ms, ok=true")
		require.NoError(t, calls.Limit(2, 900*ms))
	})
}
