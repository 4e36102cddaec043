package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestASKIsForOneKey: a slot is on its way, and one of two keys has been moved. The command on the
// other key, which goes again for a reason of its own, goes to the node that has the key.
func TestASKIsForOneKey(t *testing.T) {
	t.Parallel()
	const moved, stays = "{t}moved", "{t}stays"
	count := pipeline.NewScript("return redis.call('INCRBY', KEYS[1], 1)")
	for name, test := range map[string]struct {
		refusal string
		append  func(p *pipeline.Pipeline) pipeline.Reply
	}{
		"unknown script":  {"", func(p *pipeline.Pipeline) pipeline.Reply { return p.Eval(count, []string{stays}) }},
		"refused for now": {"BUSY Redis is busy running a script.", func(p *pipeline.Pipeline) pipeline.Reply { return p.IncrBy(stays, 1) }},
		"not ready yet":   {"LOADING Redis is loading the dataset in memory", func(p *pipeline.Pipeline) pipeline.Reply { return p.IncrBy(stays, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := redistest.StartEmulated(t, 2)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			client := open(t, cluster.Config{RefreshEvery: -1}, servers.Addrs())
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", stays, "5")))
			slot := radix.ClusterSlot([]byte(stays))
			from := servers.Owner(slot)
			servers.StartMigration(slot, 1-from)
			var refused atomic.Bool
			servers.Inject(from, func(_ string, args []string) string {
				if test.refusal == "" || len(args) == 0 || args[0] != stays || refused.Swap(true) {
					return ""
				}
				return test.refusal
			})
			p := pipeline.New(client)
			first, second := p.IncrBy(moved, 1), test.append(p)
			require.NoError(t, p.Do(ctx))
			n, err := first.Int()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			n, err = second.Int()
			require.NoError(t, err)
			require.EqualValues(t, 6, n)
			require.False(t, servers.Nodes()[1-from].Exists(stays))
		})
	}
}

// TestASKKeepsTheOrderOfAKey: a command on a key that was asked for elsewhere goes where the
// commands before it on the key go.
func TestASKKeepsTheOrderOfAKey(t *testing.T) {
	t.Parallel()
	servers := redistest.StartEmulated(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client := open(t, cluster.Config{RefreshEvery: -1}, servers.Addrs())
	const key = "k"
	slot := radix.ClusterSlot([]byte(key))
	from := servers.Owner(slot)
	servers.StartMigration(slot, 1-from)
	servers.Inject(from, func(cmd string, _ []string) string {
		if cmd == "GET" {
			return "BUSY Redis is busy running a script."
		}
		return ""
	})
	p := pipeline.New(client)
	p.IncrBy(key, 1)
	got := p.Cmd("GET", key)
	require.NoError(t, p.Do(ctx))
	n, err := got.Int()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, 1, servers.Calls(1-from, "GET"))
}
