package pipeline_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestExpireNX: only a key without a time to live gets one.
func TestExpireNX(t *testing.T) {
	t.Parallel()
	real := servers.StartServer(t, servers.Options{})
	p := pipeline.New(open(t, cluster.Config{}, real.Addrs()))
	for key, ttl := range map[string]time.Duration{"s": time.Hour, "ms": time.Hour + time.Millisecond} {
		p.Reset()
		none := p.ExpireNX(key, ttl)
		p.IncrBy(key, 1)
		first, second := p.ExpireNX(key, ttl), p.ExpireNX(key, 24*time.Hour)
		left := p.Cmd("PTTL", key)
		err := p.Do(within(t, 5*time.Second))
		if real.Major() < 7 {
			require.ErrorContains(t, err, "3 of 5 commands failed")
			require.ErrorContains(t, err, "ERR wrong number of arguments")
			continue
		}
		require.NoError(t, err)
		for i, r := range []pipeline.Reply{none, first, second} {
			n, err := r.Int()
			require.NoError(t, err)
			require.Equal(t, i == 1, n == 1)
		}
		n, err := left.Int()
		require.NoError(t, err)
		require.InDelta(t, ttl.Milliseconds(), n, 60_000)
	}
}

// TestCountOfAKeyThatExpires: a key that INCRBY creates, because it expires between SET and INCRBY,
// gets its time to live. One that has another time to live keeps it.
func TestCountOfAKeyThatExpires(t *testing.T) {
	server := redistest.StartEmulated(t, 1)
	var refused atomic.Pointer[string]
	server.Inject(0, func(cmd string, args []string) string {
		switch {
		case refused.Load() != nil && cmd == *refused.Load():
			return "ERR refused"
		case cmd == "SET" && strings.HasPrefix(args[0], "gone"):
			return "$-1\r\n" // SET found the key
		case cmd == "SET" && args[0] == "late":
			return "+OK\r\n" // SET created the key
		}
		return ""
	})
	client := open(t, cluster.Config{}, server.Addrs())
	ttl := func(key string) int64 {
		left, err := client.Cmd(t.Context(), "TTL", key).Int()
		require.NoError(t, err)
		return left
	}
	require.NoError(t, client.Cmd(t.Context(), "SET", "zero", 0, "EX", 5000).Err())
	require.NoError(t, client.Cmd(t.Context(), "SET", "old", 7).Err())

	p := pipeline.New(client)
	gone, zero, old := p.Count("gone", 3, time.Minute), p.Count("zero", 1, time.Minute), p.Count("old", 1, time.Minute)
	require.NoError(t, p.Do(t.Context()))
	for reply, want := range map[pipeline.Reply]int64{gone: 3, zero: 1, old: 8} {
		requireInt(t, want, reply)
	}
	require.InDelta(t, 60, ttl("gone"), 10)
	require.Greater(t, ttl("zero"), int64(4000))
	require.Equal(t, int64(-1), ttl("old"), "which had none before")

	p.Reset()
	p.Count("zero", -1, time.Minute)
	p.Cmd("SET", "zero", "0")
	p.Count("zero", 1, time.Minute)
	p.Cmd("DEL", "zero")
	require.NoError(t, p.Do(t.Context()))
	require.Equal(t, int64(-2), ttl("zero"), "what is deleted stays so")
	require.NoError(t, client.Cmd(t.Context(), "SET", "zero", 0).Err())
	require.Error(t, p.Do(t.Context()))
	require.Equal(t, int64(-1), ttl("zero"), "a second Do changes nothing")

	p.Reset()
	p.Count("late", 1, time.Microsecond)
	require.NoError(t, p.Do(t.Context()))
	require.NotEqual(t, int64(-1), ttl("late"), "it expired before INCRBY")

	p.Reset()
	p.Count("unset", 2, time.Minute)
	set := "SET"
	refused.Store(&set)
	require.ErrorContains(t, p.Do(t.Context()), "1 of 2 commands failed")
	require.InDelta(t, 60, ttl("unset"), 10, "the server refused SET")

	p.Reset()
	gone = p.Count("gone2", 3, time.Minute)
	pttl := "PTTL"
	refused.Store(&pttl)
	err := p.Do(t.Context())
	require.ErrorContains(t, err, "1 of 2 commands failed")
	require.ErrorIs(t, err, redislanes.ErrUnknownOutcome, "it was counted")
	requireInt(t, int64(3), gone)

	p.Reset()
	p.Count("gone3", 1, time.Minute)
	p.Cmd("LPUSH", "old", "x")
	err = p.Do(t.Context())
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorContains(t, err, "counted, but")
}
