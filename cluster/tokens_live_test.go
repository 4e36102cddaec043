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
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// TestUsersAreRotated: each round has another user and password, and removes the last
// one, with which servers cut all connections of that user. With a MaxAge there are
// none by then, and no call fails.
func TestUsersAreRotated(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 2})
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprint("rotated:", i)
	}
	o := pool.Options{MaxAge: time.Second}
	for name, c := range map[string]cluster.Config{
		"laned": {Pool: pool.Laned{Options: o}}, "fixed": {Pool: pool.Fixed{Size: 4, Options: o}},
		"RESP3": {Pool: pool.Laned{Options: o}, Dialer: lanes.Dialer{Protocol: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := within(t, 60*time.Second)
			rotation := rotation{t: t, cluster: real, name: name}
			rotation.next(ctx)
			c.Dialer.Credentials = rotation.credentials
			client := open(t, c, real.Addrs())
			load := startTraffic(client, 4, keys)
			pops := startPops(client, keys[0])
			for range 3 {
				load.more(t, ctx)
				former := rotation.user()
				rotation.next(ctx)
				until(t, ctx, "no connection has the former user", func() bool { return rotation.connections(ctx, former) == 0 })
				require.NotZero(t, rotation.connections(ctx, rotation.user()))
				rotation.remove(ctx, former)
				load.more(t, ctx)
			}
			load.end(t)
			require.NoError(t, pops())
			for _, n := range client.Stats().Nodes {
				require.Zero(t, n.Pool.Closes[redislanes.CloseByServer]+n.Pool.Closes[redislanes.CloseIOFailure], n.Pool.Closes)
			}
		})
	}
}

// startPops lets a caller wait for elements, over dedicated connections; the function that it
// returns ends that.
func startPops(client *cluster.Client, key string) (end func() error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		for ctx.Err() == nil {
			if err := client.Do(context.Background(), radix.Cmd(nil, "BLPOP", "{"+key+"}list", "0.2")); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	return func() error { stop(); return <-ended }
}

// A rotation is users of a cluster, one after the other.
type rotation struct {
	t       *testing.T
	cluster *servers.Cluster
	name    string
	round   atomic.Int64
}

func (r *rotation) user() string { return fmt.Sprint(r.name, r.round.Load()) }

func (r *rotation) credentials(context.Context) (username, password string, err error) {
	user := r.user()
	return user, "secret-" + user, nil
}

// next makes another user the one that credentials returns.
func (r *rotation) next(ctx context.Context) {
	user := fmt.Sprint(r.name, r.round.Load()+1)
	for _, n := range r.cluster.Nodes() {
		require.NoError(r.t, n.Do(ctx, nil, "ACL", "SETUSER", user, "on", ">secret-"+user, "~*", "+@all"))
	}
	r.round.Add(1)
}

func (r *rotation) remove(ctx context.Context, user string) {
	for _, n := range r.cluster.Nodes() {
		require.NoError(r.t, n.Do(ctx, nil, "ACL", "DELUSER", user))
	}
}

// connections counts those of the user.
func (r *rotation) connections(ctx context.Context, user string) (n int) {
	for _, node := range r.cluster.Nodes() {
		var list string
		require.NoError(r.t, node.Do(ctx, &list, "CLIENT", "LIST"))
		n += strings.Count(list, " user="+user+" ")
	}
	return n
}
