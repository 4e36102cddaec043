package bench

import (
	"context"
	"errors"
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
	const callers, requests, stride = 4, 60, 7
	for _, p := range []setting{pools[0], pools[3], pools[5]} {
		client := newClient(t, target{addrs: e.Addrs()}, p.pool)
		for _, s := range scenarios {
			all := newKeySet()
			l := newLoad(client, s, all, callers)
			require.NoError(t, l.warmUp(t.Context()))
			require.True(t, l.connected())
			latencies := make([]time.Duration, 1+(requests-1)/stride)
			require.NoError(t, l.run(t.Context(), requests, latencies, stride))
			for _, took := range latencies {
				require.Positive(t, took)
			}
			sent := int64(requests + callers*warmUpEach)
			require.Equal(t, sent*int64(s.fixed), total(t, client, all.fixed), "%s %s", p.name, s.name)
			require.Equal(t, sent*int64(s.variable), total(t, client, all.variable), "%s %s", p.name, s.name)
		}
	}
}

// total returns the sum of the counters.
func total(t *testing.T, client *cluster.Client, keys []string) (sum int64) {
	p := pipeline.New(client)
	var replies []pipeline.Reply
	for _, key := range keys {
		replies = append(replies, p.IncrBy(key, 0))
	}
	require.NoError(t, p.Do(t.Context()))
	for _, r := range replies {
		n, err := r.Int()
		require.NoError(t, err)
		sum += n
	}
	return sum
}

func TestLoadStopsAtAnError(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	client := newClient(t, target{addrs: e.Addrs()}, pool.Laned{})
	l := newLoad(client, mixed, newKeySet(), 10)
	require.NoError(t, l.warmUp(t.Context()))
	e.Inject(1, func(string, []string) string { return "ERR injected" })
	require.ErrorContains(t, l.run(t.Context(), 1_000_000, make([]time.Duration, 1), 1_000_000), "ERR …")

	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
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
