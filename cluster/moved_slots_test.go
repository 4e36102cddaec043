package cluster_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
	"github.com/redislanes/redislanes/redistest/sim"
)

// TestMigratingSlot sends pipelines through a slot that is being migrated: keys
// that have moved get ASK, new ones too, and after the migration MOVED. No
// command may run twice, and each EXPIRE must find its key.
func TestMigratingSlot(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := within(t, 30*time.Second)
	const tag = "{migrating}"
	slot := cluster.Slot(tag)
	to := elsewhere(t, ctx, real, slot)
	keys := make([]string, 10)
	for i := range keys {
		keys[i] = fmt.Sprint(tag, i)
	}
	keys = append(keys, redistest.KeysInSlots(10, "other")...)

	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.New(client)
	count := func(want int64) {
		t.Helper()
		p.Reset()
		var totals, expiries []pipeline.Reply
		for _, key := range keys {
			totals = append(totals, p.IncrBy(key, 1))
			expiries = append(expiries, p.Expire(key, time.Hour))
		}
		require.NoError(t, p.Do(ctx))
		for i := range keys {
			n, err := totals[i].Int()
			require.NoError(t, err)
			require.Equal(t, want, n, "key %d", i)
			set, err := expiries[i].Int()
			require.NoError(t, err)
			require.EqualValues(t, 1, set, "EXPIRE of key %d did not find it", i)
		}
	}
	count(1)
	require.Zero(t, client.Stats().Ask)

	require.NoError(t, real.MigrateSlotStart(ctx, slot, to))
	require.NoError(t, real.MigrateKeys(ctx, slot, to, keys[0], keys[3], keys[7]))
	count(2)
	require.EqualValues(t, 3*2, client.Stats().Ask, "three keys have moved, two commands each")
	require.Zero(t, client.Stats().Moved)

	require.NoError(t, real.MigrateSlotFinish(ctx, slot, to))
	count(3)
	require.NotZero(t, client.Stats().Moved)
	after := client.Stats().Moved
	count(4)
	require.Equal(t, after, client.Stats().Moved, "the client must have learned the slot's owner")

	for _, key := range keys {
		var n int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", key)))
		require.EqualValues(t, 4, n)
	}
}

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
		"refused for now": {"BUSY Redis is busy running a script.", func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("INCR", stays) }},
		"not ready yet":   {"LOADING Redis is loading the dataset in memory", func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("INCR", stays) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := sim.Start(t, sim.Config{Primaries: 2, Replicas: -1})
			ctx := within(t, 20*time.Second)
			client := open(t, cluster.Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: redis.Dial}}, redis.Addrs())
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", stays, "5")))
			from := redis.Owner(stays)
			for _, to := range redis.Nodes() {
				redis.StartMove(stays, to) // does nothing for the owner
			}
			if test.refusal != "" {
				from.Refuse("incr", test.refusal, 1)
			}
			p := pipeline.New(client)
			first, second := p.IncrBy(moved, 1), test.append(p)
			require.NoError(t, p.Do(ctx))
			requireInt(t, 1, first)
			requireInt(t, 6, second)
			require.EqualValues(t, 1, client.Stats().Ask)
		})
	}
}

// TestRedirectForAnotherSlot: what a script, or a strange server, makes up is
// not followed.
func TestRedirectForAnotherSlot(t *testing.T) {
	for _, kind := range []string{"MOVED", "ASK"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 2)
			client := open(t, cluster.Config{}, e.Addrs())
			slot, other := cluster.Slot("k")+1, e.Addrs()[0]
			owner := client.Primary(slot)
			if owner == other {
				other = e.Addrs()[1]
			}
			text := kind + " " + strconv.Itoa(int(slot)) + " " + other
			count := refuse(e, 1<<30, text, "INCRBY", "k")
			p := pipeline.New(client)
			p.IncrBy("k", 1)
			require.ErrorContains(t, p.Do(within(t, 5*time.Second)), kind)
			require.EqualValues(t, 1, count.Load())
			action := dedicatedCmd("k", "INCRBY", "k", "1")
			require.ErrorContains(t, client.Do(within(t, 5*time.Second), action), kind)
			require.EqualValues(t, 2, count.Load())
			require.Zero(t, client.Stats().Moved+client.Stats().Ask)
			require.Equal(t, owner, client.Primary(slot))
		})
	}
}
