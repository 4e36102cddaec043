package faults

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestSentinelFailover: Sentinels replace a silent primary under load. Reads do not fail.
// Increments fail only with an unknown outcome.
func TestSentinelFailover(t *testing.T) {
	parallel(t)
	const callers, patience = 10, 60 * time.Second
	real := servers.StartWithSentinels(t, servers.Options{Replicas: 2})
	ctx := servers.Within(t, patience)
	client := open(t, cluster.Config{Sentinel: servers.PrimaryName,
		Pool: pool.Laned{}, RetryWindow: patience}, real.SentinelAddrs()[:1])
	old, err := real.WaitWatched(ctx)
	require.NoError(t, err)
	require.Equal(t, old.Addr(), client.Primary(0))
	l := startLoad(client, callers, redistest.KeysInSlots(4, "watched"), 0)
	defer l.end()
	r := startReads(t, client, "watched")
	until(t, ctx, "the load runs", func() bool { return sum(l.acknowledged) > 500 })

	require.NoError(t, old.Pause())
	until(t, ctx, "another server is the primary", func() bool { return client.Primary(0) != old.Addr() })
	seen := sum(l.acknowledged)
	until(t, ctx, "the load goes on", func() bool { return sum(l.acknowledged) > seen+500 })
	require.NoError(t, old.Resume())
	now, err := real.WaitWatched(ctx)
	require.NoError(t, err)
	require.NoError(t, client.Sync(ctx))
	require.Equal(t, now.Addr(), client.Primary(0))
	l.end()
	r.end()
	t.Logf("%v; %d reads; primary %s, before %s", l, r.reads.Load(), now.Addr(), old.Addr())
	require.Zero(t, sum(l.undone), "%v", l.first)
	require.LessOrEqual(t, sum(l.unknown), int64(callers*len(l.keys)))
	l.verify(t, client, false)
}

// TestStaleSentinel: the first of three Sentinels is cut off together with the old primary, which goes on. The
// other two have made its replica the primary. A client writes to the old primary for a second at most,
// also if it knows the stale Sentinel alone.
func TestStaleSentinel(t *testing.T) {
	parallel(t)
	const password = "of-all"
	real := servers.StartWithSentinels(t, servers.Options{Replicas: 1, Password: password})
	ctx := servers.Within(t, 60*time.Second)
	old, heir := real.Nodes()[0], real.Nodes()[1]
	stale := cutOff(t, ctx, real, password)
	for _, n := range real.Sentinels()[1:] {
		until(t, ctx, "the others know the new primary", func() bool {
			var told []string
			require.NoError(t, n.Do(ctx, &told, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", servers.PrimaryName))
			return strings.Join(told, ":") == heir.Addr()
		})
	}
	held := func(n *servers.Node) (value int) {
		require.NoError(t, n.Do(ctx, &radix.Maybe{Rcv: &value}, "GET", "k"))
		return value
	}
	config := cluster.Config{Sentinel: servers.PrimaryName}
	config.Dialer.Password = password
	config.SentinelDialer.Username, config.SentinelDialer.Password = "client", password
	for _, seeds := range [][]string{real.SentinelAddrs(), real.SentinelAddrs()[:1]} {
		client := open(t, config, seeds)
		began, before := time.Now(), 0
		for ran := time.Duration(0); ran < 2*time.Second; ran = time.Since(began) {
			if ran < time.Second {
				before = held(old)
			}
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")))
			rest()
		}
		require.Equal(t, before, held(old), "the old primary was written to after a second")
		require.Equal(t, heir.Addr(), client.Primary(0))
	}
	var told []string
	require.NoError(t, stale.Do(ctx, radix.Cmd(&told, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", servers.PrimaryName)))
	require.Equal(t, old.Addr(), strings.Join(told, ":"), "the Sentinel was stale until the end")
	ok, err := old.IsPrimary(ctx)
	require.NoError(t, err)
	require.True(t, ok)
}

// cutOff gives each side users of its own: to one side belong the primary and the first Sentinel, to the other
// its replica and the other Sentinels, which cannot log in to the first Sentinel either. It returns a
// connection to the first Sentinel. Clients log in to Sentinels as "client".
func cutOff(t *testing.T, ctx context.Context, real *servers.Cluster, password string) radix.Conn {
	t.Helper()
	sides := []string{"left", "right", "right"}
	for i, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "ACL", "SETUSER", sides[i], "on", ">"+password, "~*", "&*", "+@all"))
	}
	for i, n := range real.Sentinels() {
		require.NoError(t, n.Do(ctx, nil, "ACL", "SETUSER", "client", "on", ">"+password, "&*", "+@all"))
		require.NoError(t, n.Do(ctx, nil, "SENTINEL", "SET", servers.PrimaryName, "auth-user", sides[i], "auth-pass", password))
	}
	for _, n := range real.Nodes() { // not all versions log in again by themselves
		require.NoError(t, n.Do(ctx, nil, "CLIENT", "KILL", "TYPE", "normal"))
		require.NoError(t, n.Do(ctx, nil, "CLIENT", "KILL", "TYPE", "pubsub"))
	}
	first := real.Sentinels()[0]
	conn, err := radix.Dialer{AuthUser: "client", AuthPass: password}.Dial(ctx, "tcp", first.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "ACL", "SETUSER", "default", "resetpass", ">another")))
	require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "CLIENT", "KILL", "TYPE", "normal")))
	return conn
}

// reads is a caller that reads, again and again.
type reads struct {
	reads atomic.Int64
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func startReads(t *testing.T, client *cluster.Client, key string) *reads {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reads{stop: cancel}
	r.done.Go(func() {
		for ctx.Err() == nil {
			var value string
			if err := client.Do(ctx, radix.Cmd(&value, "GET", key)); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("a read failed: %v", err)
				return
			}
			r.reads.Add(1)
			rest()
		}
	})
	return r
}

func (r *reads) end() {
	r.stop()
	r.done.Wait()
}

// TestSentinelSettings: Sentinels and servers have passwords of their own, and mistakes in
// the settings are named.
func TestSentinelSettings(t *testing.T) {
	parallel(t)
	const password = "canary-password"
	real := servers.StartWithSentinels(t, servers.Options{Replicas: 1, Password: password})
	ctx := servers.Within(t, 30*time.Second)
	config := cluster.Config{Sentinel: servers.PrimaryName}
	config.SentinelDialer.Password = password
	config.Dialer.Password = password
	config.Dialer.Database = 3
	client := open(t, config, real.SentinelAddrs())
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "here", "1")))
	var keys int
	require.NoError(t, client.Do(ctx, radix.Cmd(&keys, "DBSIZE")))
	require.Equal(t, 1, keys)
	require.NoError(t, real.Nodes()[0].Do(ctx, &keys, "DBSIZE"))
	require.Zero(t, keys, "database 0 is another one")

	require.Len(t, client.Stats().Nodes, 1)
	until(t, ctx, "the replica has it", func() bool {
		var value string
		return client.DoSecondary(ctx, radix.Cmd(&value, "GET", "here")) == nil && value == "1"
	})
	require.Len(t, client.Stats().Nodes, 2, "the replica was read from")

	for name, test := range map[string]struct {
		change func(*cluster.Config)
		addrs  []string
		says   []string
	}{
		"another name": {func(c *cluster.Config) { c.Sentinel = "other" },
			real.SentinelAddrs(), []string{`no primary by the name "other"`}},
		"no password": {func(c *cluster.Config) { c.SentinelDialer.Password = "" },
			real.SentinelAddrs(), []string{"NOAUTH", "Config.SentinelDialer.Password"}},
		"no Sentinels":    {func(*cluster.Config) {}, real.Addrs(), []string{"give the addresses of Sentinels"}},
		"not asked as it": {func(c *cluster.Config) { c.Sentinel = ""; c.Dialer.Database = 0 }, real.SentinelAddrs(), []string{"set Config.Sentinel"}},
		"nor over RESP3":  {func(c *cluster.Config) { c.Sentinel = ""; c.Dialer.Database = 0; c.Dialer.Protocol = 3 }, real.SentinelAddrs(), []string{"set Config.Sentinel"}},
		"many databases":  {func(c *cluster.Config) { c.Dialer.Database = 1 << 20 }, real.SentinelAddrs(), []string{"SELECT"}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := config
			test.change(&changed)
			_, err := changed.New(ctx, test.addrs)
			var unreachable *cause.Unreachable
			require.ErrorAs(t, err, &unreachable)
			for _, text := range test.says {
				require.ErrorContains(t, err, text)
			}
			require.NotContains(t, err.Error(), password)
			t.Log(err)
		})
	}
}

// TestSentinelOverTLS: a failover by Sentinels, where all servers speak TLS and demand
// certificates.
func TestSentinelOverTLS(t *testing.T) {
	parallel(t)
	real := servers.StartWithSentinels(t, servers.Options{Replicas: 1, TLS: true, ClientCerts: true})
	ctx := servers.Within(t, 60*time.Second)
	config := cluster.Config{RetryWindow: time.Minute}
	config.Dialer.TLS = real.TLSConfig()
	config.Sentinel = servers.PrimaryName
	_, err := config.New(servers.Within(t, 10*time.Second), real.SentinelAddrs()[:1])
	var unreachable *cause.Unreachable
	require.ErrorAs(t, err, &unreachable, "the Sentinel's dialer has no TLS of its own")

	config.SentinelDialer.TLS = real.TLSConfig()
	client := open(t, config, real.SentinelAddrs())
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "here", "1")))
	old, err := real.WaitWatched(ctx)
	require.NoError(t, err)
	require.NoError(t, real.SentinelFailover(ctx))
	until(t, ctx, "another server is the primary", func() bool { return client.Primary(0) != old.Addr() })
	var value string
	require.NoError(t, client.Do(ctx, radix.Cmd(&value, "GET", "here")))
	require.Equal(t, "1", value)
}

// TestPrimaryAmongStandaloneServers: of servers without cluster mode, the client uses the
// primary, also after a failover.
func TestPrimaryAmongStandaloneServers(t *testing.T) {
	parallel(t)
	real := servers.StartWithSentinels(t, servers.Options{Replicas: 1})
	ctx := servers.Within(t, 60*time.Second)
	before, err := real.WaitWatched(ctx)
	require.NoError(t, err)
	addrs := real.Addrs()
	slices.Reverse(addrs) // the replica first
	client := open(t, cluster.Config{RetryWindow: cluster.WhileContextLasts}, addrs)
	require.Equal(t, before.Addr(), client.Primary(0))
	require.NoError(t, real.SentinelFailover(ctx))
	now, err := real.WaitWatched(ctx)
	require.NoError(t, err)
	require.NotEqual(t, before, now)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "key", "1")))
	until(t, ctx, "the new primary is used", func() bool {
		return client.Sync(ctx) == nil && client.Primary(0) == now.Addr()
	})
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "key", "2")))
}
