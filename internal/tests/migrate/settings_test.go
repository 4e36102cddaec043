package migrate

import (
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestSettings: a password, a user and a database have the same effect by the settings
// of either.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{Username: "limiter", Password: "secret"})
	ctx := servers.Within(t, 10*time.Second)
	theirs, err := radix.PoolConfig{
		Dialer: closing(t, radix.Dialer{AuthUser: "limiter", AuthPass: "secret", SelectDB: "2"}, false),
	}.New(ctx, "tcp", server.Addrs()[0])
	require.NoError(t, err)
	defer theirs.Close()
	ours, err := cluster.Config{Dialer: lanes.Dialer{Username: "limiter", Password: "secret", Database: 2}}.New(ctx, server.Addrs())
	require.NoError(t, err)
	defer ours.Close()
	byURL, addrs, err := cluster.ParseURL("redis://limiter:secret@" + server.Addrs()[0] + "/2")
	require.NoError(t, err)
	also, err := byURL.New(ctx, addrs)
	require.NoError(t, err)
	defer also.Close()

	require.NoError(t, theirs.Do(ctx, radix.Cmd(nil, "SET", "k", "of database 2")))
	for _, client := range []radix.Client{theirs, ours, also} {
		var got, who string
		require.NoError(t, client.Do(ctx, radix.Cmd(&got, "GET", "k")))
		require.NoError(t, client.Do(ctx, radix.Cmd(&who, "ACL", "WHOAMI")))
		require.Equal(t, "of database 2 of limiter", got+" of "+who)
	}
	_, err = radix.PoolConfig{Dialer: radix.Dialer{AuthPass: "wrong"}}.New(ctx, "tcp", server.Addrs()[0])
	require.Error(t, err)
	_, err = cluster.Config{Dialer: lanes.Dialer{Password: "wrong"}}.New(ctx, server.Addrs())
	require.Error(t, err)
}

// TestSentinel: the same program over a primary that Sentinels watch.
func TestSentinel(t *testing.T) {
	t.Parallel()
	real := servers.StartWithSentinels(t, servers.Options{Replicas: 1})
	ctx := servers.Within(t, 20*time.Second)
	theirs, err := radix.SentinelConfig{
		PoolConfig: radix.PoolConfig{Dialer: closing(t, radix.Dialer{}, false)}, SentinelDialer: closing(t, radix.Dialer{}, false),
	}.New(ctx, servers.PrimaryName, real.SentinelAddrs())
	require.NoError(t, err)
	defer theirs.Close()
	ours, err := cluster.Config{Sentinel: servers.PrimaryName}.New(ctx, real.SentinelAddrs())
	require.NoError(t, err)
	defer ours.Close()
	for i, client := range []radix.MultiClient{theirs, ours} {
		var n, size int
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "INCR", "k")))
		require.Equal(t, i+1, n)
		var list []string
		require.NoError(t, client.Do(ctx, radix.Cmd(&list, "MGET", "a", "k", "c")), "keys need not be in one slot")
		require.Equal(t, []string{"", fmt.Sprint(n), ""}, list)
		var role []any
		require.NoError(t, client.DoSecondary(ctx, radix.Cmd(&role, "ROLE")))
		require.Equal(t, []byte("slave"), role[0])
		sets, err := client.Clients()
		require.NoError(t, err)
		require.Len(t, sets, 1)
		set := sets[real.Nodes()[0].Addr()]
		require.Len(t, set.Secondaries, 1)
		require.Equal(t, real.Nodes()[1].Addr(), set.Secondaries[0].Addr().String())
		require.NoError(t, set.Primary.Do(ctx, radix.Cmd(&size, "DBSIZE")))
		require.Equal(t, 1, size)
	}
}
