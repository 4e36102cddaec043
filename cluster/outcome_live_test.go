package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestLostReplies stalls the only server until its connections are given up.
// Commands in flight have an unknown outcome: those that may run twice are sent
// again, INCRBY is not.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	stall := pool.Options{StallTimeout: 200 * time.Millisecond}
	client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1, Options: stall}}, server.Addrs())
	ctx := within(t, 20*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "read", "v")))

	p := pipeline.New(client)
	count := p.IncrBy("counted", 1)
	read := p.Cmd("GET", "read")
	viaRadix := p.Append(radix.Cmd(nil, "STRLEN", "read"))
	set := p.Cmd("SET", "set", "v").Idempotent()
	plain := p.Cmd("SET", "plain", "v")
	require.NoError(t, server.Nodes()[0].Pause())
	given := make(chan error, 1)
	go func() { given <- p.Do(ctx) }()
	require.Eventually(t, func() bool { return client.Stats().Repeated > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, server.Nodes()[0].Resume())
	require.ErrorIs(t, <-given, redislanes.ErrUnknownOutcome)
	for _, r := range []pipeline.Reply{count, plain} {
		require.ErrorIs(t, r.Err(), redislanes.ErrUnknownOutcome)
		require.NotErrorIs(t, r.Err(), redislanes.ErrNotSent)
		require.ErrorIs(t, r.Err(), cause.ErrStalled)
	}
	for _, r := range []pipeline.Reply{read, viaRadix, set} {
		require.NoError(t, r.Err())
	}
	var n int
	require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", "counted")))
	require.LessOrEqual(t, n, 1, "counted twice")
}

// TestRefusedIsAnOutcome: what the server did not execute is told apart.
func TestRefusedIsAnOutcome(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{RetryWindow: -1}, e.Addrs())
	e.Inject(0, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			return "CLUSTERDOWN The cluster is down"
		}
		return ""
	})
	ctx := within(t, 5*time.Second)
	p := pipeline.New(client)
	refused := p.IncrBy("k", 1)
	p.Cmd("SET", "text", "v")
	failed := p.Cmd("LPUSH", "text", "v")
	require.Error(t, p.Do(ctx))
	require.ErrorIs(t, refused.Err(), redislanes.ErrRefused)
	require.NotErrorIs(t, refused.Err(), redislanes.ErrNotSent)
	require.NotErrorIs(t, failed.Err(), redislanes.ErrRefused)
	require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", "k", "1")), redislanes.ErrRefused)
}

// TestCredentialsAreAskedForOnEveryDial changes the password of a server that
// is in use.
func TestCredentialsAreAskedForOnEveryDial(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{Password: "old-canary"})
	ctx := within(t, 20*time.Second)
	var password atomic.Value
	password.Store("old-canary")
	d := lanes.Dialer{Credentials: func(context.Context) (string, string, error) { return "", password.Load().(string), nil }}
	client := open(t, cluster.Config{Dialer: d, Pool: pool.Fixed{Size: 2}}, server.Addrs())
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "CONFIG", "SET", "requirepass", "new-canary")))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "PING")), "connections that are open stay so")

	password.Store("new-canary")
	require.Eventually(t, func() bool {
		_ = client.Do(ctx, radix.Cmd(nil, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"))
		return client.Stats().Nodes[0].Pool.Dials > 2 && client.Do(ctx, radix.Cmd(nil, "PING")) == nil
	}, 10*time.Second, time.Millisecond)

	both := cluster.Config{Dialer: lanes.Dialer{Password: "x", Credentials: d.Credentials}}
	_, err := both.New(ctx, server.Addrs())
	require.ErrorContains(t, err, "Credentials")
}

// TestNothingPrintsThePassword formats everything that holds it.
func TestNothingPrintsThePassword(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{Password: "canary"})
	config := cluster.Config{Dialer: lanes.Dialer{Password: "canary"}}
	client := open(t, config, server.Addrs())
	p, err := nodepool.NewFor(nodepool.Settings{}, config.Dialer, wire.Purpose{}, server.Addrs()[0], nil)
	require.NoError(t, err)
	defer p.Close()
	clients, err := client.Clients()
	require.NoError(t, err)
	for _, v := range []any{config, &config, client, p, clients, client.Stats()} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			require.False(t, strings.Contains(fmt.Sprintf(verb, v), "canary"), "%T with %s", v, verb)
		}
	}
}
