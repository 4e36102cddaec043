package cluster_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// refuse makes every node reply with the text to the first n tries of the
// command on the key, and returns how often it did.
func refuse(e *redistest.Emulated, n int32, text, name, key string) *atomic.Int32 {
	count := new(atomic.Int32)
	for node := range e.Addrs() {
		e.Inject(node, func(cmd string, args []string) string {
			if cmd == name && args[0] == key && count.Load() < n {
				count.Add(1)
				return text
			}
			return ""
		})
	}
	return count
}

// TestRedirectedDoNotWaitForRefused: one slot is refused for as long as the
// caller waits; a command that was redirected at the same time runs at once.
func TestRedirectedDoNotWaitForRefused(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{RetryWindow: time.Hour, RefreshEvery: -1}, e.Addrs())
	const moved = "{moved}"
	e.Move(cluster.Slot(moved), (e.Owner(cluster.Slot(moved))+1)%3)
	refuse(e, 1<<30, "TRYAGAIN later", "INCRBY", "refused")
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	p := pipeline.New(client)
	refused := p.IncrBy("refused", 1)
	followed := p.IncrBy(moved, 1)
	done := make(chan error, 1)
	go func() { done <- p.Do(ctx) }()
	require.Eventually(t, func() bool {
		value, err := e.Nodes()[e.Owner(cluster.Slot(moved))].Get(moved)
		return err == nil && value == "1" && client.Stats().Refused > 3
	}, 10*time.Second, time.Millisecond)
	cancel()
	require.Error(t, <-done)
	// The end may meet a try before it is sent, or a reply before it is read.
	err := refused.Err()
	require.True(t, errors.Is(err, redislanes.ErrRefused) || errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrUnknownOutcome), "%v", err)
	if err := followed.Err(); err != nil {
		require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
	}
}

// TestExpiryFollowsItsCounter: the server refuses INCRBY and runs the EXPIRE
// behind it, because what it refused for has ended in between. The key must not
// live for ever.
func TestExpiryFollowsItsCounter(t *testing.T) {
	for _, refusal := range []string{"LOADING Redis is loading", "TRYAGAIN later", "CLUSTERDOWN The cluster is down"} {
		t.Run(refusal[:4], func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{}, e.Addrs())
			refuse(e, 1, refusal, "INCRBY", "k")
			p := pipeline.New(client)
			other := p.Expire("other", time.Minute)
			total := p.IncrBy("k", 1)
			expiry := p.Expire("k", time.Minute)
			require.NoError(t, p.Do(within(t, 5*time.Second)))
			for reply, want := range map[pipeline.Reply]int64{other: 0, total: 1, expiry: 1} {
				n, err := reply.Int()
				require.NoError(t, err)
				require.Equal(t, want, n)
			}
			node := e.Owner(cluster.Slot("k"))
			require.Equal(t, time.Minute, e.Nodes()[node].TTL("k"))
			expiries := 0
			for node := range 3 {
				expiries += e.Calls(node, "EXPIRE")
			}
			require.Equal(t, 3, expiries, "only the key's own EXPIRE runs again")
		})
	}
}

// TestExpiryDoesNotOverruleOthers: what the request does with the time to live
// afterwards stands, so INCRBY, which would need its EXPIRE again, ends as
// refused.
func TestExpiryDoesNotOverruleOthers(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	refuse(e, 1, "TRYAGAIN later", "INCRBY", "k")
	p := pipeline.New(client)
	count := p.IncrBy("k", 1)
	p.Expire("k", time.Minute)
	p.Cmd("PERSIST", "k")
	require.Error(t, p.Do(within(t, 5*time.Second)))
	require.ErrorIs(t, count.Err(), redislanes.ErrRefused)
	require.ErrorIs(t, count.Err(), cause.ErrOvertaken)
	require.Equal(t, 1, e.Calls(0, "EXPIRE"))
	require.Zero(t, e.Calls(0, "INCRBY"))
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
			action := radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "INCRBY", "k", "1"))
			})
			require.ErrorContains(t, client.Do(within(t, 5*time.Second), action), kind)
			require.EqualValues(t, 2, count.Load())
			require.Zero(t, client.Stats().Moved+client.Stats().Ask)
			require.Equal(t, owner, client.Primary(slot))
		})
	}
}

// TestDeadNode: with a window, calls wait for a failover; afterwards, and without
// one, they fail at once, and commands for other nodes have their replies.
func TestDeadNode(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	keys := redistest.KeysInSlots(12, "dead")
	const window = 300 * time.Millisecond
	client := open(t, cluster.Config{RetryWindow: window, RefreshEvery: -1}, e.Addrs())
	ctx := within(t, 20*time.Second)
	p := pipeline.New(client)
	call := func() (failed, waited time.Duration, err error) {
		p.Reset()
		var replies []pipeline.Reply
		for _, key := range keys {
			replies = append(replies, p.IncrBy(key, 1))
		}
		began := time.Now()
		err = p.Do(ctx)
		waited = time.Since(began)
		for i, r := range replies {
			if e.Owner(cluster.Slot(keys[i])) != 1 {
				require.NoError(t, r.Err())
				continue
			}
			require.ErrorIs(t, r.Err(), redislanes.ErrDown)
			require.ErrorIs(t, r.Err(), redislanes.ErrNotSent)
			failed++
		}
		return failed, waited, err
	}
	require.NoError(t, p.Do(ctx))
	e.Nodes()[1].Close()
	failed, waited, err := call()
	require.Error(t, err)
	require.NotZero(t, failed)
	require.Greater(t, waited, window/2)
	for range 20 {
		sent := client.Stats().NotSent
		_, _, err := call()
		require.ErrorIs(t, err, redislanes.ErrDown)
		require.ErrorContains(t, err, e.Addrs()[1])
		require.Equal(t, sent, client.Stats().NotSent, "nothing is sent again after the window")
	}
}

// TestWriteToReplica: a write that DoSecondary sends to a replica, which refuses
// it, goes to the primary, and the replica keeps its connections.
func TestWriteToReplica(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 1, Replicas: 1})
	client := open(t, cluster.Config{}, real.Addrs())
	ctx := within(t, 20*time.Second)
	var n int
	require.NoError(t, client.DoSecondary(ctx, radix.Cmd(&n, "INCRBY", "k", "3")))
	require.Equal(t, 3, n)
	for _, s := range client.Stats().Nodes {
		require.Zero(t, s.Pool.Closes[redislanes.CloseRenewed])
	}
}

// TestDemotedServer: a server without cluster mode becomes a replica and a
// primary again; READONLY must not reach callers, and connections are replaced,
// since the name may lead to another server now.
func TestDemotedServer(t *testing.T) {
	t.Parallel()
	server, other := servers.StartServer(t, servers.Options{}), servers.StartServer(t, servers.Options{})
	client := open(t, cluster.Config{RetryWindow: time.Hour}, server.Addrs())
	ctx := within(t, 20*time.Second)
	p := pipeline.New(client)
	p.IncrBy("k", 1)
	require.NoError(t, p.Do(ctx))
	host, port, err := net.SplitHostPort(other.Addrs()[0])
	require.NoError(t, err)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "REPLICAOF", host, port))
	done := make(chan error, 1)
	go func() {
		p.Reset()
		p.IncrBy("k", 1)
		done <- p.Do(ctx)
	}()
	require.Eventually(t, func() bool {
		return client.Stats().Nodes[0].Pool.Closes[redislanes.CloseRenewed] > 0
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "REPLICAOF", "NO", "ONE"))
	require.NoError(t, <-done)
	require.NotZero(t, client.Stats().Refused)
}

// TestTooManyClients: a server that has no room for a connection now may have
// some soon.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	ctx := within(t, 20*time.Second)
	client := open(t, cluster.Config{RetryWindow: time.Hour}, server.Addrs())
	conn, err := (radix.Dialer{}).Dial(ctx, "tcp", server.Addrs()[0])
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "CONFIG", "SET", "maxclients", "1")))
	done := make(chan error, 1)
	go func() { done <- client.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	require.Eventually(t, func() bool { return client.Stats().NotSent > 2 }, 10*time.Second, time.Millisecond)
	require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "CONFIG", "SET", "maxclients", "1000")))
	require.NoError(t, <-done)
}
