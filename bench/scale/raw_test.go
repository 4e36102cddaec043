package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/evidence"
)

// TestMeasureSmall measures everything on a small scale, and makes the tables from the
// lines of the raw file.
func TestMeasureSmall(t *testing.T) {
	name := filepath.Join(t.TempDir(), "raw.jsonl")
	require.NoError(t, measure(t.Context(), name,
		clientPlan{procs: []int{1, 2}, shapes: [][2]int{{1, 1}, {3, 4}}, keys: []int{1, 10}, callers: []int{1, 20}, during: 20 * time.Millisecond, rounds: 2}.measure,
		largePlan{primaries: []int{3, 50}, rounds: 1, during: 20 * time.Millisecond}.measure,
		footprintPlan{primaries: []int{1, 2}, lanes: []int{1, 4}, fixed: []int{2}, rounds: 1, during: 20 * time.Millisecond}.measure,
	))
	for table, want := range map[string]string{
		"source": ", commit ", "client": "| 10   | 3 × 4         | 20      | ", "cluster": "| connections in the end",
		"memory": "| primaries | 1 lane ", "connections": "| Fixed 2 |",
	} {
		text, err := tableOf(pages.Table{Files: []string{name}, Name: table})
		require.NoError(t, err)
		require.Contains(t, text, want)
	}
	_, err := tableOf(pages.Table{Files: []string{name}, Name: "else"})
	require.ErrorContains(t, err, "want one of")
	r, err := readRaw(name)
	require.NoError(t, err)
	require.Len(t, r.clients, 2*2*2*2*2)
	require.Greater(t, r.large[1].Connections, r.large[0].Connections)
	for _, f := range r.footprints {
		require.Equal(t, f.Primaries*max(f.Lanes, f.Fixed), f.Connections)
		require.Positive(t, f.Server)
		require.Positive(t, f.Idle)
	}
	require.Greater(t, r.footprints[4].Idle, r.footprints[3].Idle, "more lanes take more")
	for _, c := range r.clients {
		require.Positive(t, c.Requests)
	}
}

func TestCommandLine(t *testing.T) {
	require.ErrorContains(t, command(t.Context(), []string{"what"}), `"what": is no flag`)
	require.ErrorContains(t, command(t.Context(), []string{"-raw", filepath.Join(t.TempDir(), "none", "raw")}), "-raw: ")
}

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("..", "scale", true, evidence.Dated(tableOf))
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}
