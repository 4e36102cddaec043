package pipeline

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

func open(t *testing.T, c cluster.Config, addrs []string) *cluster.Client {
	t.Helper()
	client, err := c.New(t.Context(), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// TestHitsInTwoParts: wherever a key is divided, it is one key, in its slot, with its
// time to live.
func TestHitsInTwoParts(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
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
	client := open(t, cluster.Config{}, redistest.StartEmulated(t, 3).Addrs())
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

func TestSaid(t *testing.T) {
	reply := func(text string) error { return &redislanes.Error{Cause: resp3.SimpleError{S: text}} }
	for _, c := range []struct {
		err error
		ran bool
	}{
		{nil, true},
		{reply("ERR increment or decrement would overflow"), false},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), false},
		{reply("ERR value is not an integer or out of range"), false},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{reply("ERR wrong number of arguments for 'expire' command"), false},
		{reply("ERR Unsupported option NX"), false},
		{reply("ERR syntax error"), false},
		{reply("upstream failure"), true},
		{reply("IOERR error or timeout reading to target instance"), true},
		{reply("NOPERM this user has no permissions to run the 'expire' command"), false},
		{&redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: errors.New("increment or decrement would overflow")}, true},
		{&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: errors.New("the pool is closed")}, false},
		{&redislanes.Error{Cause: errors.New("the reply is no integer")}, true},
	} {
		require.Equal(t, c.ran, mayHaveRun(c.err), "%v", c.err)
	}
}

// TestMilliseconds: a time to live is a number of the server's.
func TestMilliseconds(t *testing.T) {
	const most = math.MaxInt64 / time.Millisecond * time.Millisecond
	for n, want := range map[int64]time.Duration{
		0: 0, -2: -2 * time.Millisecond, 1500: 1500 * time.Millisecond,
		1e16: most, math.MaxInt64: most, math.MinInt64: -most,
	} {
		require.Equal(t, want, milliseconds(n), n)
	}
}
