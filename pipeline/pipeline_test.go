package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestPipelines sends ten keys in ten slots over every kind of pool, grouped
// and sent in every way, on a real cluster.
func TestPipelines(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for name, kind := range map[string]pool.Config{
		"fixed": pool.Fixed{Size: 4}, "adaptive": pool.Adaptive{Min: 1, Max: 8}, "laned": pool.Laned{Lanes: 2},
	} {
		client := open(t, cluster.Config{Pool: kind}, real.Addrs())
		for _, how := range []pipeline.Config{
			{}, {Sequential: true},
			{Group: cluster.BySlot}, {Group: cluster.BySlot, Sequential: true},
		} {
			t.Run(fmt.Sprintf("%s/%v/sequential=%v", name, how.Group, how.Sequential), func(t *testing.T) {
				t.Parallel()
				keys := redistest.KeysInSlots(10, strings.ReplaceAll(t.Name(), "/", ":"))
				p := how.New(client)
				for round := int64(1); round <= 4; round++ {
					countOnce(t, p, keys, round)
				}
				want := 3
				if how.Group == cluster.BySlot {
					want = 10 + 1 // PING, which has no slot
				}
				require.Equal(t, want, p.Trips())
			})
		}
	}
}

// countOnce counts every key once and expects the same total of each.
func countOnce(t *testing.T, p *pipeline.Pipeline, keys []string, want int64) {
	t.Helper()
	p.Reset()
	totals := make([]pipeline.Reply, len(keys))
	expiries := make([]pipeline.Reply, len(keys))
	for i, key := range keys {
		totals[i] = p.IncrBy(key, 2)
		expiries[i] = p.Expire(key, time.Minute)
	}
	ping := p.Cmd("PING")
	require.NoError(t, p.Do(within(t, 10*time.Second)))
	for i := range keys {
		requireInt(t, 2*want, totals[i])
		set, err := expiries[i].Int()
		require.NoError(t, err)
		require.EqualValues(t, 1, set)
		require.NotEmpty(t, totals[i].Node())
	}
	pong, err := ping.Text()
	require.NoError(t, err)
	require.Equal(t, "PONG", pong)
}

func TestRefusedCommands(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	for _, c := range []struct {
		name string
		add  func(p *pipeline.Pipeline) pipeline.Reply
		want error
		text string
	}{
		{"cross slot", func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("mget", "canary-a", "canary-b") }, redislanes.ErrCrossSlot, "MGET"},
		{"blocking", func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("BLPOP", "k", "0") }, cause.ErrNotPipelinable, "BLPOP"},
		{"stateful", func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("MULTI") }, cause.ErrNotPipelinable, "MULTI"},
		{"no name", func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("") }, redislanes.ErrNotSent, "without a name"},
		{"blocking action", func(p *pipeline.Pipeline) pipeline.Reply {
			return p.Append(radix.Cmd(nil, "BLPOP", "k", "0"))
		}, cause.ErrNotPipelinable, ""},
		{"blocking action that radix would pipeline", func(p *pipeline.Pipeline) pipeline.Reply {
			return p.Append(radix.Cmd(nil, "BLMOVE", "k", "k", "LEFT", "LEFT", "0"))
		}, cause.ErrNotPipelinable, "BLMOVE"},
		{"stateful action", func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(radix.Cmd(nil, "WATCH", "k")) }, cause.ErrNotPipelinable, "WATCH"},
		{"silencing action", func(p *pipeline.Pipeline) pipeline.Reply {
			return p.Append(radix.Cmd(nil, "CLIENT", "REPLY", "OFF"))
		}, cause.ErrUnanswered, "CLIENT"},
		{"script action", func(p *pipeline.Pipeline) pipeline.Reply {
			return p.Append(radix.NewEvalScript("return 1").Cmd(nil, nil))
		}, cause.ErrNotPipelinable, ""},
		{"action of two commands", func(p *pipeline.Pipeline) pipeline.Reply {
			two := radix.NewPipeline()
			two.Append(radix.Cmd(nil, "GET", "{k}1"))
			two.Append(radix.Cmd(nil, "GET", "{k}2"))
			return p.Append(two)
		}, redislanes.ErrNotSent, "2 commands"},
		{"action of two round trips", func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(twoTrips{}) }, redislanes.ErrNotSent, "round trips"},
		{"action that fails", func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(broken{}) }, errBroken, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pipeline.New(client)
			ok := p.IncrBy("refused:"+c.name, 1)
			bad := c.add(p)
			err := p.Do(within(t, 5*time.Second))
			for _, err := range []error{err, bad.Err()} {
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, c.text)
				require.NotContains(t, err.Error(), "canary")
			}
			require.ErrorIs(t, ok.Err(), redislanes.ErrNotSent, "nothing may be sent")
		})
	}
	for node := range 3 {
		require.Zero(t, e.Calls(node, "INCRBY"))
	}
}

func TestClosedClient(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	require.NoError(t, client.Close())
	p := pipeline.New(client)
	r := p.IncrBy("k", 1)
	require.ErrorIs(t, p.Do(within(t, 5*time.Second)), redislanes.ErrClosed)
	require.ErrorIs(t, r.Err(), redislanes.ErrNotSent)
}
