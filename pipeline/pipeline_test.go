package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
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
		n, err := totals[i].Int()
		require.NoError(t, err)
		require.Equal(t, 2*want, n)
		set, err := expiries[i].Int()
		require.NoError(t, err)
		require.EqualValues(t, 1, set)
		require.NotEmpty(t, totals[i].Node())
	}
	pong, err := ping.Text()
	require.NoError(t, err)
	require.Equal(t, "PONG", pong)
}

func TestReplies(t *testing.T) {
	t.Parallel()
	real := servers.StartServer(t, servers.Options{})
	for _, protocol := range []int{2, 3} {
		client := open(t, cluster.Config{Dialer: lanes.Dialer{Protocol: protocol}}, real.Addrs())
		p := pipeline.New(client)
		binary := "\x00\r\n\xff$5\r\n"
		p.Cmd("FLUSHALL")
		p.Cmd("SET", "", binary)
		text := p.Cmd("GET", "")
		null := p.Cmd("GET", "absent")
		p.Cmd("HSET", "h", "f", "1", "g", "2")
		hash := p.Cmd("HGETALL", "h")
		float := p.Cmd("INCRBYFLOAT", "x", "1.5")
		ttl := p.Expire("x", 1500*time.Millisecond)
		left := p.Cmd("PTTL", "x")
		least := p.Expire("x", time.Nanosecond)
		array := p.Cmd("MGET", "", "absent")
		list := p.Eval(pipeline.NewScript("return {3, -4}"), []string{"x"})
		var viaRadix string
		p.Append(radix.Cmd(&viaRadix, "GET", ""))
		require.NoError(t, p.Do(within(t, 5*time.Second)))

		s, err := text.Text()
		require.NoError(t, err)
		require.Equal(t, binary, s)
		require.Equal(t, binary, viaRadix)
		require.True(t, null.IsNull())
		_, err = null.Text()
		require.ErrorIs(t, err, redislanes.ErrNull)
		require.NoError(t, null.Err())
		var m map[string]int
		require.NoError(t, hash.Into(&m))
		require.Equal(t, map[string]int{"f": 1, "g": 2}, m)
		_, err = hash.Int()
		require.Error(t, err)
		f, err := float.Float()
		require.NoError(t, err)
		require.Equal(t, 1.5, f)
		for _, r := range []pipeline.Reply{ttl, least} {
			n, err := r.Int()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
		n, err := left.Int()
		require.NoError(t, err)
		require.InDelta(t, 1500, n, 500)
		numbers := []int64{9, 9, 9}
		require.NoError(t, list.Into(&numbers))
		require.Equal(t, []int64{3, -4}, numbers)
		require.ErrorAs(t, array.Into(&numbers), new(*redislanes.DecodeError))
		var both []*string
		require.NoError(t, array.Into(&both))
		require.Equal(t, binary, *both[0])
		require.Nil(t, both[1])
	}
}

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

// TestSteadyUser: the window of a user who does not rest ends all the same.
func TestSteadyUser(t *testing.T) {
	t.Parallel()
	real := servers.StartServer(t, servers.Options{})
	if real.Major() < 7 {
		t.Skip("EXPIRE NX needs Redis 7")
	}
	p := pipeline.New(open(t, cluster.Config{}, real.Addrs()))
	ctx := within(t, 30*time.Second)
	for before := int64(0); ; {
		p.Reset()
		total := p.IncrBy("user", 1)
		p.ExpireNX("user", 30*time.Millisecond)
		require.NoError(t, p.Do(ctx))
		n, err := total.Int()
		require.NoError(t, err)
		if n <= before {
			require.EqualValues(t, 1, n, "a window begins with its first hit")
			return
		}
		before = n
	}
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

func TestLifeOfAReply(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	p := pipeline.New(open(t, cluster.Config{}, e.Addrs()))
	ctx := within(t, 5*time.Second)
	require.NoError(t, p.Do(ctx), "an empty pipeline")
	p.Reset()
	require.ErrorIs(t, pipeline.Reply{}.Err(), cause.ErrPending)
	r := p.IncrBy("k", 1)
	require.ErrorIs(t, r.Err(), cause.ErrPending)
	require.NoError(t, p.Do(ctx))
	require.NoError(t, r.Err())
	require.ErrorIs(t, p.Do(ctx), cause.ErrExecuted)
	n, err := r.Int()
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "the second Do must not have counted")
	p.Reset()
	require.ErrorIs(t, r.Err(), cause.ErrStale)
	require.Zero(t, p.Len())
}

// TestFailedNeighbours: a command that fails leaves the others their replies,
// and no error shows an argument.
func TestFailedNeighbours(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.New(client)
	p.Cmd("SET", "text", "canary")
	good := p.IncrBy("good", 1)
	bad := p.IncrBy("text", 987654)
	unknown := p.Cmd("NOSUCH", "canary", "canary")
	var into int
	action := p.Append(radix.Cmd(&into, "GET", "text"))
	err := p.Do(within(t, 5*time.Second))
	var failure *redislanes.PipelineError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, 3, failure.Failed)
	require.Equal(t, 5, failure.Total)
	require.NoError(t, good.Err())
	var simple resp3.SimpleError
	require.ErrorAs(t, bad.Err(), &simple)
	require.NotErrorIs(t, bad.Err(), redislanes.ErrUnknownOutcome)
	require.Error(t, action.Err(), "text does not fit an int")
	for _, err := range []error{err, bad.Err(), unknown.Err()} {
		require.NotContains(t, err.Error(), "canary")
		require.NotContains(t, err.Error(), "987654")
	}
	var command *redislanes.Error
	require.ErrorAs(t, bad.Err(), &command)
	require.Equal(t, "INCRBY", command.Command)
	require.Contains(t, real.Addrs(), command.Addr)

	p.Reset()
	good = p.IncrBy("good", 1)
	p.Cmd("WATCH", "good") // is refused, so nothing is sent
	require.ErrorAs(t, p.Do(within(t, 5*time.Second)), &failure)
	require.Equal(t, []int{2, 2}, []int{failure.Failed, failure.Total})
	require.ErrorIs(t, good.Err(), redislanes.ErrNotSent)
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
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Do(ctx), context.DeadlineExceeded)
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
	p.Reset()
	for i, key := range keys {
		replies[i] = p.IncrBy(key, 0)
	}
	require.NoError(t, p.Do(within(t, 10*time.Second)))
	for _, r := range replies {
		n, err := r.Int()
		require.NoError(t, err)
		require.Contains(t, []int64{2, 3}, n, "counted twice")
	}
}

// TestReusedPipelineDoesNotAllocate gates the hot path.
func TestReusedPipelineDoesNotAllocate(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1}}, real.Addrs())
	keys := redistest.KeysInSlots(10, "allocs")
	p := pipeline.New(client)
	ctx := within(t, time.Minute)
	replies := make([]pipeline.Reply, len(keys))
	request := func() {
		p.Reset()
		for i, key := range keys {
			replies[i] = p.IncrBy(key, 1)
			p.Expire(key, time.Minute)
			if real.Major() >= 7 {
				p.ExpireNX(key, 1500*time.Millisecond)
			}
			p.Count(key, 1, time.Minute)
		}
		if err := p.Do(ctx); err != nil {
			t.Fatal(err)
		}
		for _, r := range replies {
			if _, err := r.Int(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		request()
	}
	require.Less(t, servers.LeastAllocs(500, 0, request), 1.0)
}
