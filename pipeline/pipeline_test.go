package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/race"
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

// TestStalledNode stops one of three nodes: the commands for the others have
// their replies at the deadline, those for it an unknown outcome, and once it
// goes on nothing was counted twice.
func TestStalledNode(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, NodeTimeout: 10 * time.Second})
	for name, kind := range map[string]pool.Config{
		"fixed": pool.Fixed{Size: 4}, "adaptive": pool.Adaptive{Min: 1, Max: 4}, "laned": pool.Laned{Lanes: 2},
	} {
		t.Run(name, func(t *testing.T) { testStalledNode(t, real, kind) })
	}
}

func testStalledNode(t *testing.T, real *servers.Cluster, kind pool.Config) {
	client := open(t, cluster.Config{Pool: kind}, real.Addrs())
	keys := redistest.KeysInSlots(9, t.Name())
	p := pipeline.New(client)
	countOnce(t, p, keys, 1)
	stopped := real.Nodes()[1]
	require.NoError(t, stopped.Pause())
	defer func() { _ = stopped.Resume() }()

	p.Reset()
	replies := make([]pipeline.Reply, len(keys))
	for i, key := range keys {
		replies[i] = p.IncrBy(key, 1)
	}
	// A second, since the other nodes may take long on a machine with much else to do.
	require.ErrorIs(t, p.Do(within(t, time.Second)), context.DeadlineExceeded)
	answered := 0
	for _, r := range replies {
		switch n, err := r.Int(); {
		case err == nil:
			require.EqualValues(t, 3, n)
			answered++
		default:
			require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
			require.ErrorContains(t, err, "INCRBY on "+stopped.Addr())
		}
	}
	require.Equal(t, 6, answered, "two thirds of the slots are on nodes that run")

	require.NoError(t, stopped.Resume())
	ctx := within(t, 10*time.Second)
	err := redislanes.ErrDown
	for errors.Is(err, redislanes.ErrDown) && ctx.Err() == nil { // until the client has heard the node again
		p.Reset()
		for i, key := range keys {
			replies[i] = p.IncrBy(key, 0)
		}
		err = p.Do(ctx)
	}
	require.NoError(t, err)
	for _, r := range replies {
		n, err := r.Int()
		require.NoError(t, err)
		require.Contains(t, []int64{2, 3}, n, "counted twice")
	}
}

// TestLargePipelines sends 10,000 commands at once, and asks for 64 MB of
// replies at once, while others send small requests: nobody hangs, and each
// reply is the right one.
func TestLargePipelines(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for name, kind := range map[string]pool.Config{"laned": pool.Laned{}, "fixed": pool.Fixed{Size: 4}} {
		t.Run(name, func(t *testing.T) {
			client := open(t, cluster.Config{Pool: kind}, real.Addrs())
			ctx := within(t, 60*time.Second)
			stop := make(chan struct{})
			var small sync.WaitGroup
			defer small.Wait()
			defer close(stop)
			for caller := range 4 {
				small.Go(func() {
					p := pipeline.New(client)
					for n := int64(1); ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						p.Reset()
						total := p.IncrBy(name+":small:"+strconv.Itoa(caller), 1)
						_ = p.Do(ctx)
						if got, err := total.Int(); err != nil || got != n {
							t.Errorf("got %d, %v, want %d", got, err, n)
							return
						}
					}
				})
			}
			manyCommands(t, client, name)
			largeReplies(t, client, name)
		})
	}
}

func manyCommands(t *testing.T, client *cluster.Client, prefix string) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	p := pipeline.New(client)
	for round := range race.Rounds(3, 2) {
		p.Reset()
		replies := make([]pipeline.Reply, 10_000)
		for i := range replies {
			replies[i] = p.IncrBy(prefix+":many:"+strconv.Itoa(i), int64(i))
		}
		require.NoError(t, p.Do(ctx))
		for i, r := range replies {
			if n, err := r.Int(); err != nil || n != int64(i*(round+1)) {
				t.Fatalf("reply %d of round %d: %d, %v", i, round, n, err)
			}
		}
	}
}

func largeReplies(t *testing.T, client *cluster.Client, prefix string) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	const size, count = 1 << 20, 64
	p := pipeline.New(client)
	value := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), size) }
	for i := range 8 {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", prefix+":large:"+strconv.Itoa(i), value(i))))
	}
	var replies []pipeline.Reply
	for i := range count {
		replies = append(replies, p.Cmd("GET", prefix+":large:"+strconv.Itoa(i%8)))
	}
	require.NoError(t, p.Do(ctx))
	for i, r := range replies {
		text, err := r.Text()
		require.NoError(t, err)
		require.True(t, text == value(i%8), "reply %d", i)
	}
}
