package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/machine"
	"github.com/redislanes/redislanes/internal/pages"

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
