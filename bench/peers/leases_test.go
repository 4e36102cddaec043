package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"

	"github.com/redislanes/redislanes/bench/internal/child"
)

func TestMain(m *testing.M) {
	child.Main()
	servers.VerifyNoLeaks(m)
}

// TestLeases: a key that is hit often needs fewer commands than decisions with leases, and without
// them at most the three of each trip.
func TestLeases(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for _, leases := range []bool{true, false} {
		row, err := measureLease(t.Context(), real.Addrs(), 2000, leases, 300*time.Millisecond)
		require.NoError(t, err)
		require.Greater(t, row.Decisions, int64(100))
		require.Positive(t, row.Commands)
		require.Positive(t, row.P99)
		require.Equal(t, leases, row.Leased > row.Decisions/2)
		if leases { // without them, the slower the machine the more hits share a command
			require.Less(t, row.perDecision(), 0.3)
		}
	}
}
