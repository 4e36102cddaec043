package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// narrowRights are those of docs/topologies.md, with the commands of the program.
const narrowRights = "~app:* -@all +ping +cluster|slots +readonly +asking +get +mget +incrby +expire +blpop +multi +exec"

// TestNarrowACL: with NoIdentity and NoSetInfo, nothing is sent that a narrow ACL forbids:
// the servers' ACL LOG stays empty.
func TestNarrowACL(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 2, Replicas: 1, Directives: []string{"user narrow on >secret " + narrowRights}})
	user := lanes.Dialer{Username: "narrow", Password: "secret"}
	ctx := within(t, 30*time.Second)

	require.NoError(t, ordinary(ctx, open(t, cluster.Config{Dialer: user}, real.Addrs())))
	require.NotEmpty(t, forbidden(t, ctx, real), "without the settings")
	for _, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "ACL", "LOG", "RESET"))
	}

	user.NoSetInfo = true
	for name, c := range map[string]pool.Config{
		"laned": pool.Laned{Options: pool.Options{PingEvery: 10 * time.Millisecond}},
		"fixed": pool.Fixed{Size: 2, Options: pool.Options{PingEvery: 10 * time.Millisecond}},
	} {
		client := open(t, cluster.Config{Dialer: user, NoIdentity: true, Pool: c, RefreshEvery: 50 * time.Millisecond}, real.Addrs())
		began := client.Stats().Refreshes
		for fetched := uint64(0); fetched < 5; fetched = client.Stats().Refreshes - began {
			require.NoError(t, ordinary(ctx, client), name)
		}
		require.Empty(t, forbidden(t, ctx, real), name)
		require.NoError(t, client.Close())
	}

	alone := servers.StartServer(t, servers.Options{Directives: []string{"user narrow on >secret " + narrowRights}})
	client := open(t, cluster.Config{Dialer: user, NoIdentity: true}, alone.Addrs())
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", "app:1", "1")))
	require.Empty(t, forbidden(t, ctx, alone), "without cluster mode")
}

// ordinary uses a client in the ways that narrowRights allow.
func ordinary(ctx context.Context, client *cluster.Client) error {
	p := pipeline.New(client)
	for i := range 20 {
		key := fmt.Sprint("app:", i)
		p.IncrBy(key, 1)
		p.Expire(key, time.Hour)
		p.Cmd("MGET", key)
	}
	if err := p.Do(ctx); err != nil {
		return err
	}
	if err := client.DoSecondary(ctx, radix.Cmd(nil, "GET", "app:1")); err != nil {
		return err
	}
	if err := client.Do(ctx, radix.Cmd(nil, "BLPOP", "app:none", "0.01")); err != nil {
		return err
	}
	return client.Do(ctx, radix.WithConn("app:1", func(ctx context.Context, conn radix.Conn) error {
		transaction := radix.NewPipeline()
		transaction.Append(radix.Cmd(nil, "MULTI"))
		transaction.Append(radix.Cmd(nil, "INCRBY", "app:1", "1"))
		transaction.Append(radix.Cmd(nil, "EXEC"))
		return conn.Do(ctx, transaction)
	}))
}

// forbidden returns what the nodes' ACL LOG holds.
func forbidden(t *testing.T, ctx context.Context, real *servers.Cluster) (objects []string) {
	t.Helper()
	for _, n := range real.Nodes() {
		var entries [][]any
		require.NoError(t, n.Do(ctx, &entries, "ACL", "LOG"))
		for _, e := range entries {
			objects = append(objects, fmt.Sprint(e))
		}
	}
	return objects
}
