package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/internal/servers"

	"github.com/redislanes/redislanes/bench/evidence"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// TestPageIsWhatWasMeasured makes the table and the plot again from the raw file.
func TestPageIsWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("../..", "leases", true, evidence.Dated(tableOf))
	require.NoError(t, err)
	drawn, err := pages.Redraw("../..", "leases", true, picture)
	require.NoError(t, err)
	require.Empty(t, append(changed, drawn...), "differ from what was measured: run make pages")
}

// TestMeasure: a key that is hit often needs fewer commands than decisions with leases, and without
// them at most the three of each trip.
func TestMeasure(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for _, leases := range []bool{true, false} {
		row, err := measure(t.Context(), real.Addrs(), 2000, leases, 300*time.Millisecond)
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

// TestFlags: what cannot be is refused before anything starts.
func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`"1s": is no flag`:          {"1s"},
		"-for 0s: must be positive": {"-for", "0"},
	} {
		require.EqualError(t, command(t.Context(), args), want)
	}
}
