package cluster_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestRefusedForNow lets one node refuse the first tries of some commands, and
// checks that only these are sent again.
func TestRefusedForNow(t *testing.T) {
	for _, refusal := range []string{
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOREPLICAS Not enough good replicas to write.",
		"READONLY You can't write against a read only replica.",
	} {
		t.Run(strings.Fields(refusal)[0], func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{}, e.Addrs())
			keys := redistest.KeysInSlots(12, "refused")
			victim := keys[5]
			var left atomic.Int32
			left.Store(3)
			e.Inject(e.Owner(cluster.Slot(victim)), func(cmd string, args []string) string {
				if cmd == "INCRBY" && args[0] == victim && left.Add(-1) >= 0 {
					return refusal
				}
				return ""
			})
			p := pipeline.New(client)
			var totals []pipeline.Reply
			for _, key := range keys {
				totals = append(totals, p.IncrBy(key, 5))
			}
			require.NoError(t, p.Do(within(t, 10*time.Second)))
			for _, r := range totals {
				requireInt(t, 5, r)
			}
			ran := 0
			for node := range 3 {
				ran += e.Calls(node, "INCRBY")
			}
			require.Equal(t, len(keys), ran, "each command must have run once")
		})
	}
}
