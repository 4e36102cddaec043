package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
)

// TestServers: a server has its own commands, and the limiter uses them.
func TestServers(t *testing.T) {
	for server, want := range map[string]struct{ increx, limits string }{
		"":           {"-ERR unknown command 'INCREX'", "SET"},
		"redis-8.10": {"*2", "INCREX"},
		"valkey-9":   {"-ERR unknown command 'INCREX'", "SET"},
	} {
		t.Run("server "+server, func(t *testing.T) {
			commands := make(map[string]bool)
			config := Config{Server: server, Executed: func(e Execution) { commands[e.Args[0]] = true }}
			inBubble(t, config, func(t *testing.T, c *Cluster) {
				p := dial(t, c, c.Owner(here).Addr())
				require.Contains(t, p.say("INCREX "+here), want.increx)
				client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: c.Dial}}.New(t.Context(), c.Addrs())
				require.NoError(t, err)
				defer client.Close()
				limiter, err := limit.Config{}.New(client)
				require.NoError(t, err)
				defer limiter.Close()
				two, err := limit.Rule{Name: "two", Quota: 2, Window: time.Minute}.New(limiter)
				require.NoError(t, err)
				for i := range 3 {
					require.Equal(t, i < 2, limiter.Allow(t.Context(), limit.Request{Limit: two, Key: "user:42"}).Allowed)
				}
			})
			require.True(t, commands[want.limits], "%v", commands)
		})
	}
}

// TestMoveAtOnce: servers but 7.0 serve all keys until the slot moves, and hold up writes before that.
func TestMoveAtOnce(t *testing.T) {
	for _, server := range []string{"redis-8.10", "valkey-9"} {
		inBubble(t, Config{Replicas: -1, Server: server}, moveAtOnce)
	}
}

func moveAtOnce(t *testing.T, c *Cluster) {
	from, to := c.Owner(here), c.Owner(there)
	p, q, r := dial(t, c, from.Addr()), dial(t, c, from.Addr()), dial(t, c, to.Addr())
	finish := c.StartMove(here, to)
	require.Equal(t, ":1", p.say("INCR "+here))
	require.Equal(t, ":1", p.say("INCR {"+here+"}new"))
	require.Equal(t, "+OK", r.say("ASKING"))
	require.Contains(t, r.say("GET "+here), "-MOVED")
	began := time.Now()
	go finish()
	time.Sleep(ms / 10)
	require.Equal(t, "$1", q.say("GET "+here))
	require.Contains(t, p.say("INCR "+here), "-MOVED")
	require.InDelta(t, 3*ms, time.Since(began), float64(ms))
	require.Equal(t, ":2", r.say("INCR "+here))
	c.Move(here, from)
	require.Same(t, from, c.Owner(here))
}
