package cluster_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
)

// onlyShared has one lane for everybody and one for slow commands: a command that
// blocks on one of them would be noticed.
var onlyShared = cluster.Config{Pool: pool.Laned{Lanes: 1, SlowLanes: 1}}

// TestBlockingCommandsGetADedicatedConnection: while one blocks, it has a connection to
// itself, and commands on the same node and slot are answered.
func TestBlockingCommandsGetADedicatedConnection(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, onlyShared, real.Addrs())
	push, add := []string{"RPUSH", "{b}list", "v"}, []string{"ZADD", "{b}zset", "1", "v"}
	ctx := within(t, 30*time.Second)
	for _, test := range []struct{ command, unblock []string }{
		{[]string{"BLPOP", "{b}list", "0"}, push},
		{[]string{"brpop", "{b}list", "0"}, push},
		{[]string{"BRPOPLPUSH", "{b}list", "{b}to", "0"}, push},
		{[]string{"BZPOPMIN", "{b}zset", "0"}, add},
		{[]string{"BZPOPMAX", "{b}zset", "0"}, add},
		{[]string{"XREAD", "BLOCK", "0", "STREAMS", "{b}stream", "$"}, []string{"XADD", "{b}stream", "*", "f", "v"}},
		// radix takes these for commands that may share a connection.
		{[]string{"BLMOVE", "{b}list", "{b}to", "LEFT", "RIGHT", "0"}, push},
		{[]string{"blmpop", "0", "1", "{b}list", "LEFT"}, push},
		{[]string{"BZMPOP", "0", "1", "{b}zset", "MIN"}, add},
	} {
		known, err := real.Nodes()[0].Knows(ctx, test.command[0])
		require.NoError(t, err)
		if !known {
			require.Less(t, real.Major(), 7)
			continue
		}
		for _, how := range []struct {
			name string
			do   func(radix.Action) error
		}{
			{"Client", func(a radix.Action) error { return client.Do(ctx, a) }},
			{"one node's client", func(a radix.Action) error {
				clients, err := client.Clients()
				if err != nil {
					return err
				}
				return clients[client.Primary(cluster.Slot("{b}"))].Primary.Do(ctx, a)
			}},
		} {
			t.Run(test.command[0]+", "+how.name, func(t *testing.T) {
				done := make(chan error, 1)
				go func() { done <- how.do(radix.Cmd(nil, test.command[0], test.command[1:]...)) }()
				for blocked(t, client) == 0 {
					require.Empty(t, done)
				}
				requireFreeLanes(t, client)
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, test.unblock[0], test.unblock[1:]...)))
				require.NoError(t, <-done)
				require.Zero(t, stats(client).Dedicated)
			})
		}
	}
}

// blocked returns how many clients a blocking command holds on the node of {b}.
func blocked(t *testing.T, client *cluster.Client) (n int) {
	var info string
	ctx := within(t, 10*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(&info, "GET", "{b}text"))) // on the shared lane
	require.NoError(t, primaryAt(t, client, client.Primary(cluster.Slot("{b}"))).Do(ctx, radix.Cmd(&info, "INFO", "clients")))
	return infoNumber(t, info, "blocked_clients")
}

func infoNumber(t *testing.T, info, field string) (n int) {
	_, rest, found := strings.Cut(info, field+":")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// requireFreeLanes requires that one connection is dedicated and that both shared
// lanes answer.
func requireFreeLanes(t *testing.T, client *cluster.Client) {
	ctx := within(t, 10*time.Second)
	s := stats(client)
	require.Equal(t, []int{1, 0, 0}, []int{s.Dedicated, s.InFlight, s.SlowInFlight})
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "GET", "{b}text")))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "HGETALL", "{b}hash")))
}

// TestTransactionsGetADedicatedConnection: WATCH, MULTI and EXEC are on a connection
// that nobody else uses. What others do meanwhile, on shared lanes, is not part of
// the transaction, and makes EXEC fail if it changes a watched key.
func TestTransactionsGetADedicatedConnection(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, onlyShared, real.Addrs())
	ctx := within(t, 30*time.Second)
	for _, disturbed := range []bool{false, true} {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "DEL", "{b}n")))
		exec := radix.Maybe{Rcv: new([]int)}
		require.NoError(t, client.Do(ctx, radix.WithConn("{b}n", func(ctx context.Context, conn radix.Conn) error {
			ids := map[int]bool{}
			do := func(a radix.Action) { require.NoError(t, conn.Do(ctx, a)) }
			for _, name := range []string{"WATCH", "HGETALL"} { // slow commands, too, stay on it
				do(radix.Cmd(nil, name, "{b}n"))
				var id int
				do(radix.Cmd(&id, "CLIENT", "ID"))
				ids[id] = true
			}
			require.Len(t, ids, 1)
			do(radix.Cmd(nil, "MULTI"))
			do(radix.Cmd(nil, "INCR", "{b}n"))
			requireFreeLanes(t, client)
			if disturbed {
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "{b}n", "7")))
			}
			return conn.Do(ctx, radix.Cmd(&exec, "EXEC"))
		})))
		require.Equal(t, disturbed, exec.Null)
		require.Zero(t, stats(client).Dedicated)
	}
}

// blockers keep a connection for as long as they like.
var blockers = map[string]func() radix.Action{
	"BLPOP":  func() radix.Action { return radix.Cmd(nil, "BLPOP", "list{k}", "30") },
	"nobody": nil,
}

// TestRefusedDialsBesideBlockedConnections: the only connections that are left are in use by
// commands that wait for data, and the server refuses others, as without room for
// more clients. Calls fail as they do if no connection is left, also without a deadline. When such
// a connection is returned, it serves the next call.
func TestRefusedDialsBesideBlockedConnections(t *testing.T) {
	for _, kind := range []pool.Config{pool.Laned{}, pool.Adaptive{}} {
		for name, blocks := range blockers {
			t.Run(fmt.Sprintf("%T, %s", kind, name), func(t *testing.T) {
				if _, laned := kind.(pool.Laned); blocks == nil && !laned {
					t.Skip("there is a connection")
				}
				synctest.Test(t, func(t *testing.T) {
					e := newEndless(t, cluster.Config{Pool: kind})
					blocked := make(chan struct{})
					go func() {
						defer close(blocked)
						if blocks != nil {
							_ = e.Do(e.ctx, blocks())
						}
					}()
					time.Sleep(time.Second)
					e.owner.RefuseDials()
					call := func() (took time.Duration, err error) {
						began := time.Now()
						err = e.Do(e.ctx, dedicatedCmd("k", "INCR", "k"))
						return time.Since(began), err
					}
					took, err := call()
					require.ErrorIs(t, err, redislanes.ErrDown)
					require.ErrorContains(t, err, "connection refused")
					require.InDelta(t, 1, took.Seconds(), 0.1)
					took, err = call()
					require.ErrorIs(t, err, redislanes.ErrDown)
					require.Less(t, took, 5*time.Millisecond)
					if <-blocked; blocks != nil {
						_, err = call()
						require.NoError(t, err, "over the connection that was returned")
					}
				})
			})
		}
	}
}

// TestWaitErrorNamesTheRefusedDial: a call waits for a connection that a user has, since the server
// refuses others. Its error says why there is no other.
func TestWaitErrorNamesTheRefusedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndless(t, cluster.Config{})
		err := e.Do(e.ctx, radix.WithConn("k", func(context.Context, radix.Conn) error {
			e.owner.RefuseDials()
			return e.Do(soon(t, 100*time.Millisecond), radix.Cmd(nil, "BLPOP", "list{k}", "1"))
		}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.NotErrorIs(t, err, redislanes.ErrDown)
		// Between them the text may say that the next dial has begun.
		require.ErrorContains(t, err, "1 of 50 in use, ")
		require.ErrorContains(t, err, "the last dial failed (")
		require.ErrorContains(t, err, "connection refused), 1 waiting")
	})
}
