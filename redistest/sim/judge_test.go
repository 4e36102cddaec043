package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCountersAndLists: what is wrong names the key, the call, and the fault during it or before it.
func TestCountersAndLists(t *testing.T) {
	const fault = `{Kind: "Cut", Node: "10.0.0.3:6379"},`
	counters, lists := (*Calls).Counters, (*Calls).Lists
	for name, c := range map[string]struct {
		judge func(*Calls) error
		set   string
		oks   []bool // of the calls, which push 1, 2 and so on
		want  string
	}{
		"nothing":             {counters, "SET b 0", []bool{false}, "<nil>"},
		"counted":             {counters, "SET b 2", []bool{true, false, true}, "<nil>"},
		"unknown and counted": {counters, "SET b 2", []bool{true, false}, "<nil>"},
		"counted twice":       {counters, "SET b 2", []bool{false}, "2 hits were counted in 1 calls: call 1 took 1ms, ok=false\n  meanwhile: " + fault},
		"too many":            {counters, "SET b 3", []bool{false, true}, "3 hits were counted in 2 calls: call 1 took 1ms, ok=false\n  meanwhile: " + fault},
		"lost":                {counters, "SET b 0", []bool{false, true, false}, "0 hits were counted, and 1 calls ended with ok: call 2 took 1ms, ok=true\n  before it: " + fault},
		"pushed":              {lists, "RPUSH b 3 1", []bool{true, false, true}, "<nil>"},
		"unknown and pushed":  {lists, "RPUSH b 1 2", []bool{true, false}, "<nil>"},
		"pushed twice":        {lists, "RPUSH b 1 2 3 2", []bool{true, false, true}, `2 pushes of "2" were counted in 1 calls: call 2 took 1ms, ok=false` + "\n  meanwhile: " + fault},
		"a lost push":         {lists, "RPUSH b 1", []bool{true, true}, `0 pushes of "2" were counted, and 1 calls ended with ok: call 2 took 1ms, ok=true` + "\n  before it: " + fault},
		"nobody's push":       {lists, "RPUSH b x 1", []bool{true}, `"x" is in the list, and no call pushed it`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(t *testing.T, redis *Cluster) {
				require.Regexp(t, `^[+:]`, dial(t, redis, redis.Owner(here).Addr()).say(c.set))
				calls := NewCalls(redis)
				for i, ok := range c.oks {
					require.NoError(t, redis.Replay([]Fault{{Kind: "Cut", Node: redis.Owner(there).Addr()}}))
					if ok {
						time.Sleep(ms) // the fault is over
					}
					call := calls.Begin(here, "RPUSH", i+1)
					time.Sleep(ms)
					call.End(ok)
				}
				require.Equal(t, c.want, strings.TrimPrefix(fmt.Sprint(c.judge(calls)), "sim: b: "))
			})
		})
	}
}

// TestLostWritesAreExcused: a failover loses an acknowledged write. No client can prevent that.
func TestLostWritesAreExcused(t *testing.T) {
	inBubble(t, Config{ReplicationLag: time.Minute}, func(t *testing.T, redis *Cluster) {
		dial(t, redis, redis.Owner(here).Addr()).say("SET " + here + " 0")
		calls := NewCalls(redis)
		calls.Begin(here, 1).End(true)
		never := func([]*Call) bool { return false }
		judged := func() []error { return []error{calls.Counters(), calls.Lists(), calls.History(never)} }
		require.NotContains(t, judged(), nil)
		require.NotNil(t, redis.Owner(here).FailoverLossy())
		require.Equal(t, make([]error, 3), judged())
	})
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
