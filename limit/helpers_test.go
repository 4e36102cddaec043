package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// limiterAt returns a limiter with a client of its own.
func limiterAt(t *testing.T, of cluster.Config, c Config, addrs []string) *Limiter {
	t.Helper()
	client, err := of.New(t.Context(), addrs)
	require.NoError(t, err)
	l, err := c.New(client)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, client.Close())
	})
	return l
}

// patient is a budget that a slow machine keeps.
var patient = Config{Budget: 10 * time.Second}

const soonEnough, often = 20 * time.Second, 5 * time.Millisecond // for require.Eventually

// behindProxies returns proxies before the servers, and a client's settings to go through them.
func behindProxies(t *testing.T, addrs []string) (redistest.Proxies, cluster.Config) {
	proxies := redistest.StartProxies(t, addrs)
	return proxies, cluster.Config{AddrMap: proxies.AddrMap, RefreshEvery: -1}
}
