package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/machine"
	"github.com/redislanes/redislanes/internal/pages"
)

// TestMeasureSmall measures everything on a small scale, and makes the tables from the
// lines of the raw file.
func TestMeasureSmall(t *testing.T) {
	var raw bytes.Buffer
	out := json.NewEncoder(&raw)
	require.NoError(t, out.Encode(line{Start: &start{rawFormat, machine.Machine{Commit: "0123456789ab"}}}))
	plan := clientPlan{procs: []int{1, 2}, shapes: [][2]int{{1, 1}, {3, 4}}, keys: []int{1, 10}, callers: []int{1, 20}, during: 20 * time.Millisecond, rounds: 2}
	require.NoError(t, measureClients(t.Context(), plan, t.Output(), func(c carried) error { return out.Encode(line{Client: &c}) }))
	require.NoError(t, measureLarge(t.Context(), largePlan{primaries: []int{3, 50}, rounds: 1, during: 20 * time.Millisecond}, t.Output(),
		func(l large) error { return out.Encode(line{Large: &l}) }))
	require.NoError(t, measureFootprints(t.Context(), footprintPlan{primaries: []int{1, 2}, lanes: []int{1, 4}, rounds: 1, during: 20 * time.Millisecond}, t.Output(),
		func(f footprint) error { return out.Encode(line{Memory: &f}) }))
	simulated := fleet{10, 1000, time.Millisecond, time.Microsecond}.simulate(100*time.Millisecond, 1)
	require.NoError(t, out.Encode(line{Fleet: &simulated}))
	_, err := decodeRaw(bytes.NewReader(raw.Bytes()))
	require.ErrorContains(t, err, "has no last line")
	require.NoError(t, out.Encode(line{End: new(time.Time)}))

	name := filepath.Join(t.TempDir(), "raw")
	require.NoError(t, os.WriteFile(name, raw.Bytes(), 0o600))
	for table, want := range map[string]string{
		"source": "commit 0123456789ab", "client": "| 10   | 3 × 4         | 20      | ", "cluster": "| connections in the end", "fleet": "| 10000               | 10        | ",
		"memory": "| primaries | 1 lane ",
	} {
		text, err := tableOf(pages.Table{Files: []string{name}, Name: table})
		require.NoError(t, err)
		require.Contains(t, text, want)
	}
	_, err = tableOf(pages.Table{Files: []string{name}, Name: "else"})
	require.ErrorContains(t, err, "want one of")
	r, err := readRaw(name)
	require.NoError(t, err)
	require.Len(t, r.clients, 2*2*2*2*2)
	require.Greater(t, r.large[1].Connections, r.large[0].Connections)
	for _, f := range r.footprints {
		require.Equal(t, f.Primaries*f.Lanes, f.Connections)
		require.Positive(t, f.Idle)
	}
	require.Greater(t, r.footprints[3].Idle, r.footprints[2].Idle, "more lanes take more")
	for _, c := range r.clients {
		require.Positive(t, c.Requests)
	}
}

func TestRawFilesThatAreNoneAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"end":"2026-01-01T00:00:00Z"}`:    "line 1: want one line of the start",
		`{"start":{"format":9}}`:            "has format 9: want 1",
		`{"start":{"format":1}}{"else":{}}`: "unknown field",
	} {
		_, err := decodeRaw(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestCommandLine(t *testing.T) {
	require.ErrorContains(t, command(t.Context(), []string{"what"}), `"what": is no flag`)
	require.ErrorContains(t, command(t.Context(), []string{"-raw", filepath.Join(t.TempDir(), "none", "raw")}), "-raw: ")
	require.ErrorIs(t, command(t.Context(), []string{"-from", filepath.Join(t.TempDir(), "none")}), os.ErrNotExist)
}

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("..", "scale", true, tableOf)
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}
