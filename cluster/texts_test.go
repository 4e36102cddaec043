package cluster_test

import (
	"context"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A caller is what takes radix actions: a client, or a node's own client.
type caller interface {
	Do(ctx context.Context, action radix.Action) error
}

// calls are ways to send a command to Redis, by the command that errors name.
func calls(on caller) map[string]func(context.Context) error {
	do := func(action func() radix.Action) func(context.Context) error {
		return func(ctx context.Context) error { return on.Do(ctx, action()) }
	}
	return map[string]func(context.Context) error{
		"INCR":   do(func() radix.Action { return radix.Cmd(nil, "incr", "k") }),
		"INCRBY": do(func() radix.Action { return radix.FlatCmd(nil, "INCRBY", "k", 5) }),
		"BLPOP":  do(func() radix.Action { return radix.Cmd(nil, "BLPOP", "k", "1") }),
		"DECR": do(func() radix.Action {
			p := radixPipeline(radix.Cmd(nil, "DECR", "k"), radix.Cmd(nil, "INCR", "k"))
			return p
		}),
		"EVALSHA": do(func() radix.Action {
			return radix.NewEvalScript("return redis.call('INCR',KEYS[1])").Cmd(nil, []string{"k"})
		}),
		"GET": do(func() radix.Action {
			return dedicatedCmd("k", "GET", "k")
		}),
	}
}

// TestErrorsNameCommandNodeAndCause on every path, once each.
func TestErrorsNameCommandNodeAndCause(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1}, RetryWindow: time.Millisecond, RefreshEvery: -1}, e.Addrs())
	require.NoError(t, client.Do(within(t, time.Second), radix.Cmd(nil, "HSET", "k", "f", "v")))
	addr := client.Primary(cluster.Slot("k"))
	node := primaryAt(t, client, addr)
	expect := func(command, cause string, err error) {
		t.Helper()
		require.Error(t, err, command)
		require.Regexp(t, "^redislanes: "+command+" on "+regexp.QuoteMeta(addr)+": "+cause, err.Error())
		require.NotRegexp(t, regexp.QuoteMeta(command)+": .*"+command+": |not sent: .*not sent|unknown: .*not sent|redislanes: .*redislanes: |\\*radix", err.Error())
	}
	for _, on := range []caller{client, node} {
		for command, call := range calls(on) {
			if command != "EVALSHA" { // whose error is that of its script
				expect(command, "WRONGTYPE Operation against", call(within(t, time.Second)))
			}
		}
	}
	e.Close()
	_ = client.Do(within(t, time.Second), radix.Cmd(nil, "GET", "k")) // the connection's end may be this call's cause
	for _, on := range []caller{client, node} {
		for command, call := range calls(on) {
			if command == "GET" { // there was no dedicated connection, so no command was begun
				require.Regexp(t, "^redislanes: "+regexp.QuoteMeta(addr)+": not sent: ", call(within(t, time.Second)).Error())
				continue
			}
			expect(command, "not sent: server down for .*: (connect: connection refused|handshake: the server hung up)", call(within(t, time.Second))) // hung up: it took the dial in its last moment
		}
	}
	err := client.ForEachPrimary(within(t, time.Second), func(ctx context.Context, n radix.Client) error {
		if n.Addr().String() != addr {
			return nil
		}
		return n.Do(ctx, radix.Cmd(nil, "PING"))
	})
	expect("PING", "not sent: server down", err)
}

// TestErrorsOfWhatIsClosed say what is closed.
func TestErrorsOfWhatIsClosed(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, time.Second)
	node := primaryAt(t, client, e.Addrs()[0])
	counters := pipeline.CountersConfig{}.New(client)
	require.NoError(t, counters.Close())
	hits := []pipeline.Hit{{Key: "k", By: 1}}
	require.EqualError(t, counters.Hit(ctx, hits), "redislanes: 1 of 1 commands failed, the first: INCRBY: not sent: the Counters are closed")
	require.NoError(t, client.Close())
	for _, call := range calls(client) {
		require.EqualError(t, call(ctx), "redislanes: the client is closed: not sent")
	}
	require.EqualError(t, client.Sync(ctx), "redislanes: the client is closed: not sent")
	_, err := pipeline.MGet(ctx, client, "a", "b")
	require.EqualError(t, err, "redislanes: the client is closed: not sent")
	require.EqualError(t, node.Do(ctx, radix.Cmd(nil, "GET", "k")), "redislanes: the client is closed: not sent")
}

// TestErrorsOfWhatIsNotAppended name the command and say nothing twice.
func TestErrorsOfWhatIsNotAppended(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	client := open(t, cluster.Config{}, e.Addrs())
	keys := redistest.KeysInSlots(2, "k")
	const cannot = ": not sent: command cannot be pipelined, use Client.Do or radix.WithConn"
	for want, add := range map[string]func(p *pipeline.Pipeline) pipeline.Reply{
		"BLPOP" + cannot:          func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("blpop", "k", "1") },
		"BRPOP" + cannot:          func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(radix.Cmd(nil, "BRPOP", "k", "1")) },
		"radix.withConn" + cannot: func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(radix.WithConn("k", nil)) },
		"radix.Pipeline: not sent: action of 0 commands, want 1: append them one by one": func(p *pipeline.Pipeline) pipeline.Reply {
			return p.Append(radix.NewPipeline())
		},
		"not sent: a command without a name: it needs one": func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("") },
		"MGET: not sent: keys in different slots, ":        func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("MGET", anys(keys)...) },
	} {
		p := pipeline.New(client)
		other, refused := p.Cmd("GET", "k"), add(p)
		require.ErrorContains(t, p.Do(within(t, time.Second)), want)
		require.Regexp(t, "^redislanes: "+regexp.QuoteMeta(want), refused.Err().Error())
		require.Regexp(t, "^redislanes: not sent, because of another command: "+regexp.QuoteMeta(want), other.Err().Error())
	}
}

// TestLogOfAClient: what changes is in the log, from the owners of slots to trouble that
// lasts, and nothing of what keys and values are.
func TestLogOfAClient(t *testing.T) {
	t.Parallel()
	redis := redistest.StartEmulated(t, 3)
	log := new(logged)
	client := open(t, cluster.Config{
		RetryWindow: -1, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}, redis.Addrs())
	ctx := within(t, 20*time.Second)
	const key = "canary"
	slot := cluster.Slot(key)
	set := func() error { return client.Do(ctx, radix.Cmd(nil, "SET", key, canary)) }
	require.NoError(t, set())

	owner := redis.Owner(slot)
	next := (owner + 1) % 3
	redis.Move(slot, next)
	require.NoError(t, client.Sync(ctx))
	until(t, ctx, "the log says that a slot has moved", func() bool {
		return log.count(`msg="slots moved" slots=1`) == 1
	})
	require.NoError(t, client.Sync(ctx))

	redis.Inject(next, func(cmd string, _ []string) string {
		if cmd == "SET" {
			return "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
		}
		return ""
	})
	began := time.Now()
	until(t, ctx, "the log says that there is trouble", func() bool {
		require.Error(t, set())
		return log.count("msg=outage where=\"node "+redis.Addrs()[next]+"\"") > 0
	})
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	redis.Inject(next, nil)
	require.NoError(t, set())
	until(t, ctx, "the log says that it is over", func() bool { return log.count(`msg="outage over"`) == 1 })
	require.Equal(t, 1, log.count("msg=outage"))
	require.Equal(t, 1, log.count("slots moved"))
	require.Zero(t, log.count(canary))
}
