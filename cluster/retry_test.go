package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

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

// TestTooManyClients: a server that has no room for a connection now may have
// some soon.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	ctx := within(t, 20*time.Second)
	client := open(t, cluster.Config{RetryWindow: time.Hour}, server.Addrs())
	empty := fill(t, ctx, server)
	done := make(chan error, 1)
	go func() { done <- client.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	require.Eventually(t, func() bool { return client.Stats().NotSent > 2 }, 10*time.Second, time.Millisecond)
	empty()
	require.NoError(t, <-done)
}

// TestRefusedForNow lets one node refuse the first tries of some commands, and
// checks that only these are sent again.
func TestRefusedForNow(t *testing.T) {
	for _, refusal := range []string{
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOREPLICAS Not enough good replicas to write.",
		"READONLY You can't write against a read only replica.",
	} {
		t.Run(strings.Fields(refusal)[0], func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{}, e.Addrs())
			keys := redistest.KeysInSlots(12, "refused")
			victim := keys[5]
			var left atomic.Int32
			left.Store(3)
			e.Inject(e.Owner(cluster.Slot(victim)), func(cmd string, args []string) string {
				if cmd == "INCRBY" && args[0] == victim && left.Add(-1) >= 0 {
					return refusal
				}
				return ""
			})
			p := pipeline.New(client)
			var totals []pipeline.Reply
			for _, key := range keys {
				totals = append(totals, p.IncrBy(key, 5))
			}
			require.NoError(t, p.Do(within(t, 10*time.Second)))
			for _, r := range totals {
				requireInt(t, 5, r)
			}
			ran := 0
			for node := range 3 {
				ran += e.Calls(node, "INCRBY")
			}
			require.Equal(t, len(keys), ran, "each command must have run once")
		})
	}
}

// TestRefusedForGood checks that retries end with the window, that the server's
// words reach the caller, and that what was given up does not count as sent
// again.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{RetryWindow: 20 * time.Millisecond}, e.Addrs())
	var tries atomic.Int64
	for node := range 3 {
		e.Inject(node, func(cmd string, _ []string) string {
			if cmd == "INCRBY" {
				tries.Add(1)
				return "CLUSTERDOWN The cluster is down"
			}
			return ""
		})
	}
	p := pipeline.New(client)
	r := p.IncrBy("k", 1)
	other := p.Cmd("SET", "other", "v")
	err := p.Do(within(t, 10*time.Second))
	var simple resp3.SimpleError
	require.ErrorAs(t, err, &simple)
	require.Equal(t, "CLUSTERDOWN The cluster is down", simple.S)
	require.ErrorContains(t, r.Err(), "INCRBY on 127.0.0.1:")
	require.NoError(t, other.Err())
	require.EqualValues(t, tries.Load()-1, client.Stats().Refused)
}
