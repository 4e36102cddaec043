package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/closed"
)

// TestLoadCountsExactly runs what the benchmarks run and compares the counters
// with what was sent. An error reply ends it.
func TestLoadCountsExactly(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	const callers, requests = 4, 60
	for _, p := range []setting{pools[0], pools[3], pools[5]} {
		client := target{addrs: e.Addrs()}.client(t, p.config)
		for _, s := range scenarios {
			all := newKeySet()
			senders := s.callers(client, all, callers)
			require.NoError(t, warmUp(t.Context(), client, senders))
			require.True(t, closed.Connected(client.Stats()))
			_, err := closed.Count(t.Context(), senders, requests)
			require.NoError(t, err)
			sent := int64(requests + callers*warmUpEach)
			require.Equal(t, sent*int64(s.fixed), total(t, client, all.fixed), "%s %s", p.name, s.name)
			require.Equal(t, sent*int64(s.variable), total(t, client, all.variable), "%s %s", p.name, s.name)
		}
		e.Inject(1, func(string, []string) string { return "ERR injected" })
		_, err := closed.Count(t.Context(), mixed.callers(client, newKeySet(), callers), 1_000_000)
		require.ErrorContains(t, err, "ERR …")
		e.Inject(1, nil)
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
