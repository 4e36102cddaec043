package cluster_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
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
