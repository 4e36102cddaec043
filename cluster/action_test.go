package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

var poolKinds = map[string]pool.Config{
	"fixed":    pool.Fixed{Size: 3},
	"adaptive": pool.Adaptive{Min: 1, Max: 5},
	"laned":    pool.Laned{Lanes: 2},
}

// TestActions runs radix's kinds of action on a real cluster.
func TestActions(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	for name, kind := range poolKinds {
		t.Run(name, func(t *testing.T) {
			client := open(t, cluster.Config{Pool: kind}, real.Addrs())
			prefix := "actions:" + name + ":"
			t.Run("Cmd", func(t *testing.T) { testCmd(t, client, prefix) })
			t.Run("EvalScript", func(t *testing.T) { testEval(t, client, prefix) })
			t.Run("WithConn", func(t *testing.T) { testTransaction(t, client, prefix) })
			t.Run("Pipeline", func(t *testing.T) { testRadixPipeline(t, client, prefix) })
			t.Run("blocking", func(t *testing.T) { testBlocking(t, client, prefix) })
			t.Run("errors", func(t *testing.T) { testActionErrors(t, client, prefix) })
		})
	}
	t.Run("DoSecondary", func(t *testing.T) { testSecondary(t, real) })
}

func testCmd(t *testing.T, client *cluster.Client, prefix string) {
	ctx := within(t, 5*time.Second)
	for i := range 20 {
		key := fmt.Sprint(prefix, i)
		require.NoError(t, client.Do(ctx, radix.FlatCmd(nil, "SET", key, i)))
		var got int
		require.NoError(t, client.Do(ctx, radix.Cmd(&got, "GET", key)))
		require.Equal(t, i, got)
	}
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "", "empty key")))
	var pong string
	require.NoError(t, client.Do(ctx, radix.Cmd(&pong, "PING")))
	require.Equal(t, "PONG", pong)
	maybe := radix.Maybe{Rcv: new(string)}
	require.NoError(t, client.Do(ctx, radix.Cmd(&maybe, "GET", prefix+"absent")))
	require.True(t, maybe.Null)
}

func testEval(t *testing.T, client *cluster.Client, prefix string) {
	ctx := within(t, 5*time.Second)
	// The text is new to the server, so that EVALSHA fails and EVAL follows.
	script := radix.NewEvalScript("--" + prefix + "\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])")
	for round := 1; round <= 3; round++ {
		for i := range 6 {
			var n int
			require.NoError(t, client.Do(ctx, script.Cmd(&n, []string{fmt.Sprint(prefix, "eval", i)}, "2")))
			require.Equal(t, 2*round, n)
		}
	}
}

func testTransaction(t *testing.T, client *cluster.Client, prefix string) {
	ctx := within(t, 5*time.Second)
	key := prefix + "tx"
	var replies []int
	err := client.Do(ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		for _, a := range []radix.Action{
			radix.Cmd(nil, "WATCH", key), radix.Cmd(nil, "MULTI"),
			radix.Cmd(nil, "INCR", key), radix.Cmd(nil, "INCR", key), radix.Cmd(&replies, "EXEC"),
		} {
			if err := conn.Do(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, replies)

	// A transaction that is left open does not reach the next user.
	for range 5 {
		require.NoError(t, client.Do(ctx, dedicatedCmd(key, "MULTI")))
		var n int
		require.NoError(t, client.Do(ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(&n, "GET", key))
		})))
		require.Equal(t, 2, n)
	}
	require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "MULTI")), redislanes.ErrShared)
	require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "CLIENT", "REPLY", "OFF")), redislanes.ErrShared)
	require.NoError(t, client.Do(ctx, radix.NewPipeline()), "an empty pipeline")
}

func testRadixPipeline(t *testing.T, client *cluster.Client, prefix string) {
	ctx := within(t, 5*time.Second)
	p := radix.NewPipeline()
	var a, b int
	p.Append(radix.Cmd(&a, "INCRBY", "{"+prefix+"}a", "3"))
	p.Append(radix.Cmd(&b, "INCRBY", "{"+prefix+"}b", "4"))
	require.NoError(t, client.Do(ctx, p))
	require.Equal(t, []int{3, 4}, []int{a, b})
}

func testBlocking(t *testing.T, client *cluster.Client, prefix string) {
	ctx := within(t, 5*time.Second)
	key := prefix + "list"
	got := make(chan []string, 1)
	go func() {
		var popped []string
		_ = client.Do(ctx, radix.Cmd(&popped, "BLPOP", key, "4"))
		got <- popped
	}()
	var n int
	require.NoError(t, client.Do(ctx, radix.Cmd(&n, "INCR", prefix+"beside")))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "RPUSH", key, "v")))
	require.Equal(t, []string{key, "v"}, <-got)
}

func testActionErrors(t *testing.T, client *cluster.Client, prefix string) {
	ctx := within(t, 5*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", prefix+"text", "canary")))
	err := client.Do(ctx, radix.Cmd(nil, "INCRBY", prefix+"text", "42424242424242"))
	var simple resp3.SimpleError
	var command *redislanes.Error
	require.ErrorAs(t, err, &simple, "also without a receiver")
	var n int
	err = client.Do(ctx, radix.Cmd(&n, "INCRBY", prefix+"text", "42424242424242"))
	require.ErrorAs(t, err, &simple)
	require.ErrorAs(t, err, &command)
	require.Equal(t, "INCRBY", command.Command)
	require.NotContains(t, err.Error(), "42424242424242")

	err = client.Do(ctx, radix.Cmd(&n, "NOSUCHCOMMAND", "canary-argument"))
	require.ErrorContains(t, err, "unknown command")
	require.NotContains(t, err.Error(), "canary")

	p := radixPipeline(radix.Cmd(&n, "INCRBY", "{x}ok", "1"), radix.Cmd(&n, "GETRANGE", "{x}canary", "not-a-number", "canary"))
	err = client.Do(ctx, p)
	require.ErrorAs(t, err, &command)
	require.Equal(t, "GETRANGE", command.Command)
	require.NotContains(t, err.Error(), "canary")

	var rcv []string
	cross := radix.CmdConfig{ActionProperties: func(string, ...string) radix.ActionProperties {
		return radix.ActionProperties{Keys: []string{"a", "b"}, CanShareConn: true}
	}}
	err = client.Do(ctx, cross.Cmd(&rcv, "MGET", "a", "b"))
	require.ErrorIs(t, err, redislanes.ErrCrossSlot)
}

func testSecondary(t *testing.T, real *servers.Cluster) {
	client := open(t, cluster.Config{}, real.Addrs())
	ctx := within(t, 10*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "secondary", "v")))
	for got := ""; got != "v"; { // replication takes its time
		require.NoError(t, client.DoSecondary(ctx, radix.Cmd(&got, "GET", "secondary")))
		require.NoError(t, ctx.Err())
	}
	replicas := 0
	for _, n := range client.Stats().Nodes {
		if n.Role == "replica" && n.Pool.Open > 0 {
			replicas++
		}
	}
	require.Equal(t, 1, replicas, "the reads must have gone to a replica")

	sets, err := client.Clients()
	require.NoError(t, err)
	require.Len(t, sets, 3)
	for addr, set := range sets {
		require.Equal(t, addr, set.Primary.Addr().String())
		require.Len(t, set.Secondaries, 1)
		require.NoError(t, set.Primary.Do(ctx, radix.Cmd(nil, "PING")))
	}
}

// A parallel action uses its connection on several goroutines. Each gets an error reply.
type parallel struct{ shares bool }

func (p parallel) Properties() radix.ActionProperties {
	return radix.ActionProperties{Keys: []string{"text"}, CanShareConn: p.shares}
}

func (p parallel) Perform(ctx context.Context, conn radix.Conn) error {
	var calls sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		calls.Go(func() {
			command := [...]string{"INCRBY", "LPUSH"}[i%2]
			errs[i] = conn.Do(ctx, radix.Cmd(nil, command, "text", "1"))
		})
	}
	calls.Wait()
	return errs[0]
}

// TestActionsOnSeveralGoroutines: radix lets an action use its connection on several goroutines.
// Under -race nothing of it is unguarded.
func TestActionsOnSeveralGoroutines(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := soon(t, 10*time.Second)
	require.NoError(t, client.Cmd(ctx, "SET", "text", "text").Err())
	nodes, err := client.Clients()
	require.NoError(t, err)
	for _, to := range []radix.Client{client, nodes[e.Addrs()[0]].Primary} {
		for _, shares := range []bool{true, false} {
			require.Regexp(t, `^redislanes: (INCRBY|LPUSH) on `+e.Addrs()[0]+`: `, to.Do(ctx, parallel{shares}))
		}
	}
}
