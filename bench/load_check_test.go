package bench

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestLoadCountsExactly runs what the benchmarks run and compares the counters
// with what was sent.
func TestLoadCountsExactly(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	for _, p := range pools {
		t.Run(p.name, func(t *testing.T) {
			client := newClient(t, target{addrs: e.Addrs()}, p.config) // with up to 300 connections
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) { countsExactly(t, client, s) })
			}
		})
	}
}

func countsExactly(t *testing.T, client *cluster.Client, s scenario) {
	const callers, requests, stride = 4, 60, 7
	keys := newKeySet(t.Name()+":", 200)
	l := newLoad(client, s, keys, callers)
	l.share = 10 // as exactly as more of them
	require.NoError(t, l.warmUp(t.Context()))
	for _, n := range client.Stats().Nodes {
		if n.Pool.Kind != "adaptive" {
			require.Equal(t, n.Pool.Size, n.Pool.Open)
		}
	}
	latencies := make([]time.Duration, 1+(requests-1)/stride)
	require.NoError(t, l.run(t.Context(), requests, latencies, stride))
	for _, took := range latencies {
		require.Positive(t, took)
	}

	sent := requests + callers*l.share
	fixed, variable := totals(t, l, keys)
	require.Equal(t, sent*s.fixed, fixed)
	require.Equal(t, sent*s.variable, variable)
}

// totals returns the sum of the fixed keys' counters, and of the others'.
func totals(t *testing.T, l *load, keys keySet) (fixed, variable int) {
	p := pipeline.New(l.client)
	var replies []pipeline.Reply
	for _, key := range append(slices.Clip(keys.fixed), keys.variable...) {
		replies = append(replies, p.Cmd("GET", key))
	}
	require.NoError(t, p.Do(t.Context()))
	for i, r := range replies {
		if r.IsNull() {
			continue
		}
		text, err := r.Text()
		require.NoError(t, err)
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		if i < len(keys.fixed) {
			fixed += n
		} else {
			variable += n
		}
	}
	return fixed, variable
}

func TestLoadStopsAtAnError(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	client := newClient(t, target{addrs: e.Addrs()}, pool.Laned{})
	l := newLoad(client, scenarios[3], newKeySet("stop:", 200), 10)
	require.NoError(t, l.warmUp(t.Context()))
	e.Inject(1, func(string, []string) string { return "ERR injected" })
	require.ErrorContains(t, l.run(t.Context(), 1_000_000, make([]time.Duration, 1), 1_000_000), "ERR …")

	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	require.Error(t, l.warmUp(ctx))
}

func TestPercentile(t *testing.T) {
	values := make([]time.Duration, 200)
	for i := range values {
		values[i] = time.Duration(i + 1)
	}
	require.EqualValues(t, 100, percentile(values, 50))
	require.EqualValues(t, 198, percentile(values, 99))
	require.EqualValues(t, 200, percentile(values, 100))
	require.EqualValues(t, 1, percentile(values[:1], 99))
}
