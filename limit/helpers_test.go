package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
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
