package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// TestHitsInTwoParts: wherever a key is divided, it is one key, in its slot, with its
// time to live.
func TestHitsInTwoParts(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	client, err := cluster.Config{}.New(t.Context(), e.Addrs())
	require.NoError(t, err)
	defer client.Close()
	for i, c := range []CountersConfig{{}, {ExpireEveryHit: true}} {
		counters := c.New(client)
		for _, key := range []string{"plain", "a{tag}b", "{}{x}", "}{", "{}", "x"} {
			key = fmt.Sprint(key, i)
			for at := range len(key) + 1 {
				hit := []Hit{{Prefix: key[:at], Key: key[at:], By: 1, TTL: time.Hour}}
				require.NoError(t, counters.Hit(t.Context(), hit))
				require.EqualValues(t, 1, hit[0].Total, "%q, divided at %d", key, at)
				p := New(client)
				ttl, deleted := p.Cmd("TTL", key), p.Cmd("DEL", key)
				require.NoError(t, p.Do(t.Context()))
				left, err := ttl.Int()
				require.NoError(t, err)
				require.Positive(t, left, "%q, divided at %d", key, at)
				n, err := deleted.Int()
				require.NoError(t, err)
				require.EqualValues(t, 1, n)
			}
		}
		require.NoError(t, counters.Close())
	}
}

// TestHitsDividedAtOnce: hits on one key that are divided differently are all counted.
func TestHitsDividedAtOnce(t *testing.T) {
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 3).Addrs())
	require.NoError(t, err)
	defer client.Close()
	counters := CountersConfig{}.New(client)
	const key = "user:{7}:minute"
	var hits []Hit
	for at := range len(key) + 1 {
		hits = append(hits, Hit{Prefix: key[:at], Key: key[at:], By: 1, TTL: time.Hour})
	}
	require.NoError(t, counters.Hit(t.Context(), hits))
	var totals []int64
	var want []int64
	for i, h := range hits {
		totals, want = append(totals, h.Total), append(want, int64(i+1))
	}
	require.ElementsMatch(t, want, totals)
	require.NoError(t, counters.Close())
}
