package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// TestLoadCountsExactly runs what the benchmarks run and compares the counters
// with what was sent. An error reply ends it.
func TestLoadCountsExactly(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	const callers, requests = 4, 60
	for _, p := range []setting{pools[0], pools[3], pools[5]} {
		client := target{addrs: e.Addrs()}.client(t, p.config)
		for _, s := range keys.Scenarios {
			all := newKeySet()
			senders := s.Callers(client, all, callers)
			require.NoError(t, warmUp(t.Context(), client, senders))
			require.True(t, closed.Connected(client.Stats()))
			_, err := closed.Count(t.Context(), senders, requests)
			require.NoError(t, err)
			sent := int64(requests + callers*warmUpEach)
			require.Equal(t, sent*int64(s.Fixed), total(t, client, all.Fixed), "%s %s", p.name, s.Name)
			require.Equal(t, sent*int64(s.Variable), total(t, client, all.Many), "%s %s", p.name, s.Name)
		}
		e.Inject(1, func(string, []string) string { return "ERR injected" })
		_, err := closed.Count(t.Context(), keys.Mixed(10).Callers(client, newKeySet(), callers), 1_000_000)
		require.ErrorContains(t, err, "ERR …")
		e.Inject(1, nil)
	}
}

// total returns the sum of the counters.
func total(t *testing.T, client *cluster.Client, names []string) (sum int64) {
	p := pipeline.New(client)
	var replies []pipeline.Reply
	for _, key := range names {
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
