package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/machine"
	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/rawfile"
)

// writtenRaw is a raw file of two rounds with two clients.
func writtenRaw(t *testing.T, name string, tls bool, ended bool) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	w, err := rawfile.Create(name)
	require.NoError(t, err)
	began := start{Start: rawfile.Start{Format: rawfile.Format, Machine: machine.Machine{Commit: "0123456789ab"}}, TLS: tls, Primaries: 3, Rounds: 2}
	require.NoError(t, w.Write(line{Start: &began}))
	limit := 1e6
	require.NoError(t, w.Write(line{Limit: &limit}))
	for round := range 2 {
		for i, client := range []string{"ours", "rueidis"} {
			turned := turn{TLS: tls, Callers: 100, Scenario: "mixed_10keys", Keys: 10, Client: client, Round: round,
				Requests: int64(60_000 / (i + 1)), Took: time.Second, CPU: time.Second, P99: time.Duration(i+1) * time.Millisecond}
			require.NoError(t, w.Write(line{Turn: &turned}))
		}
	}
	if ended {
		now := time.Now()
		require.NoError(t, w.Write(line{End: &now}))
	}
	require.NoError(t, w.Close())
	return name
}

func TestRawFilesMakeTheReport(t *testing.T) {
	r, err := readRaw([]string{writtenRaw(t, "tcp", false, true), writtenRaw(t, "tls", true, true)})
	require.NoError(t, err)
	var text strings.Builder
	r.report(&text)
	for _, want := range []string{
		"| mixed_10keys          | ours    | 60000 | 60000 to 60000 |",
		"| mixed_10keys over TLS | rueidis | 30000 | 30000 to 30000 |",
		"| 100     | mixed_10keys          | ours | req/s      | rueidis                         | ≥ 1.40 | 2.00   | 2.00 to 2.00 | reached   |",
		"| ours | p99        | rueidis                         | ≤ 0.70 | 0.50   | 0.50 to 0.50 | reached   |",
		"| ours | cpu/req    | rueidis                         | ≤ 0.35 | 0.50   | 0.50 to 0.50 | **short** |",
		"| ours | commands/s | redis-benchmark -P 32 (1000000) | ≥ 0.90 | 1.20   | 1.20 to 1.20 | reached   |",
		"6 of 8 goals reached.",
	} {
		require.Contains(t, text.String(), want)
	}
}

func TestRawFilesThatAreNoneAreRefused(t *testing.T) {
	_, err := readRaw([]string{writtenRaw(t, "cut", false, false)})
	require.ErrorContains(t, err, "has no last line")
	for text, want := range map[string]string{
		`{}`:          "line 2: is of no kind",
		`{"turn":{}}`: "line 2: a turn without a request",
	} {
		name := filepath.Join(t.TempDir(), "raw")
		w, err := rawfile.Create(name)
		require.NoError(t, err)
		require.NoError(t, w.Write(json.RawMessage(`{"start":{"format":1}}`)))
		require.NoError(t, w.Write(json.RawMessage(text)))
		require.NoError(t, w.Close())
		_, err = readRaw([]string{name})
		require.ErrorContains(t, err, want, text)
	}
}

func TestTablesThatAreNone(t *testing.T) {
	file := writtenRaw(t, "tcp", false, true)
	for name, want := range map[string]string{"callers 8": "nothing for it", "cuts": "nothing for it", "else": "want one of", "ours to ours, req/s": "nothing for it",
		"ours to others, p50": "no ratios of p50"} {
		_, err := tableOf(pages.Table{Files: []string{file}, Name: name})
		require.ErrorContains(t, err, want)
	}
}

// recordOf is a record of rounds of a second, with so many requests each and so much
// CPU for each of them.
func recordOf(t *testing.T, tls bool, cpus map[string]time.Duration, rates map[string][]int64) *record {
	t.Helper()
	r := newRecord()
	for client, requests := range rates {
		for round, n := range requests {
			r.add(turn{TLS: tls, Callers: 100, Scenario: "mixed", Client: client, Round: round, Keys: 2, Requests: n,
				Took: time.Second, CPU: cpus[client] * time.Duration(n), P99: time.Millisecond})
		}
	}
	return r
}

// TestBesideTheBestMode: a goal is held against the mode of the rivals that is best in
// its figure, whichever that is, and against no other client.
func TestBesideTheBestMode(t *testing.T) {
	r := recordOf(t, false,
		map[string]time.Duration{"ours": 4000, "rueidis": 8000, "rueidis-20us": 16000, "rueidislike": 1000, "go-redis-10": 32000},
		map[string][]int64{"ours": {100, 300, 200}, "rueidis": {100, 100, 100}, "rueidis-20us": {50, 300, 150}, "rueidislike": {900, 900, 900},
			"go-redis-10": {100, 100, 1}, "ours-counters": {1, 1, 1}})
	of := func(rival string, f figure, atLeast bool) goal {
		return goal{100, "mixed", "ours", []string{rival}, f, atLeast, 2}
	}
	ratio, mode := of("rueidis", rate, true).ratio(r, false)
	require.Equal(t, "rueidis-20us", mode)
	require.InDelta(t, 200.0/150, ratio.Median, 1e-9)
	require.InDelta(t, 1, ratio.Low, 1e-9)
	require.InDelta(t, 2, ratio.High, 1e-9)
	ratio, mode = of("rueidis", cpu, false).ratio(r, false)
	require.InDelta(t, 0.5, ratio.Median, 1e-9)
	require.Equal(t, "rueidis", mode)
	_, mode = of("radix", rate, true).ratio(r, false)
	require.Empty(t, mode, "was not measured")
	_, mode = of("rueidis", rate, true).ratio(r, true)
	require.Empty(t, mode, "was not measured over TLS")
	counting := goal{100, "mixed", "ours-counters", []string{oursAlone}, rate, true, 1}
	_, mode = counting.ratio(r, false)
	require.Equal(t, "ours", mode)
	counting.beside = nil
	ratio, mode = counting.ratio(r, false)
	require.Equal(t, "-", mode)
	require.InDelta(t, 1, ratio.Median, 1e-9)
}

// TestFlags: what cannot be is refused before anything starts.
func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`"100": is no flag`: {"100"},
		"-callers 0: want positive numbers with commas between": {"-callers", "0"},
		"-rounds 0: must be positive":                           {"-rounds", "0"},
		"-clients: the expression matches none":                 {"-clients", "nobody"},
		"-cuts: cannot be used with -large, -limits or -tls":    {"-cuts", "-tls"},
		"-primaries 0 -replicas 1: want at least one primary":   {"-primaries", "0"},
	} {
		require.EqualError(t, new(settings).parse(args), want)
	}
}

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files. Several
// values are often cells of one table, which is made once.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	made := make(map[string]string)
	changed, err := pages.Rewrite("..", "peers", true, evidence.Dated(func(t pages.Table) (string, error) {
		key := fmt.Sprint(t.Files, t.Name)
		if made[key] == "" {
			text, err := tableOf(t)
			if err != nil {
				return "", err
			}
			made[key] = text
		}
		return made[key], nil
	}))
	require.NoError(t, err)
	drawn, err := pages.Redraw("..", "peers", true, picture)
	require.NoError(t, err)
	require.Empty(t, append(changed, drawn...), "differ from what was measured: run make pages")
}
