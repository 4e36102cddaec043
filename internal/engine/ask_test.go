package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/lanes"
)

// TestFailedAddrMapWithholds: a Sentinel or server for whose addresses AddrMap fails has
// answered, and may tell its map the next time: another cluster does not take its place.
func TestFailedAddrMapWithholds(t *testing.T) {
	for _, fails := range []string{"primary:1", "replica:1", "sentinel:1"} {
		q := asker{Config{Sentinel: &lanes.Dialer{}, AddrMap: func(addr string) string {
			if addr == fails {
				panic("no such host")
			}
			return addr
		}}}
		err := q.translateInstances(t.Context(), &slots.SentinelReply{
			Primary:  slots.Instance{Addr: "primary:1"},
			Replicas: []slots.Instance{{Addr: "replica:1"}}, Sentinels: []slots.Instance{{Addr: "sentinel:1"}},
		})
		require.ErrorContains(t, err, "Config.AddrMap panicked: no such host", fails)
		require.True(t, withholds(err), fails)
	}
}
