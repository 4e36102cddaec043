package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
