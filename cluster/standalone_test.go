package cluster_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestStrictProxy: with Standalone and without SETINFO nothing is sent but what the program sends, and PING. A proxy
// such as twemproxy hangs up on commands that it does not know.
func TestStrictProxy(t *testing.T) {
	t.Parallel()
	var sent sync.Map // the names of commands
	w := newWorld(nil)
	w.handshake = func(cmd []string) string {
		sent.Store(strings.ToUpper(cmd[0]), true)
		return one
	}
	config := cluster.Config{Standalone: true, Dialer: lanes.Dialer{NetDial: w.dial, NoSetInfo: true}}
	ctx := within(t, 10*time.Second)
	client := open(t, config, []string{"proxy:22121"})
	pipe := pipeline.New(client)
	for _, key := range redistest.KeysInSlots(10, "proxy") {
		pipe.IncrBy(key, 1)
		pipe.Expire(key, time.Minute)
	}
	require.NoError(t, pipe.Do(ctx))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "MODULE.COMMAND", "key")))
	require.NoError(t, client.DoSecondary(ctx, radix.Cmd(nil, "GET", "key")))
	require.NoError(t, client.Sync(ctx))
	sent.Range(func(name, _ any) bool {
		return assert.Contains(t, []string{"PING", "INCRBY", "EXPIRE", "MODULE.COMMAND", "GET"}, name)
	})
}

// TestUnixSocket speaks with a server over its socket, in a database of its own.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "socket") // the path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "redis.sock")
	real := servers.StartServer(t, servers.Options{Primaries: 1, Directives: []string{"unixsocket " + path}})
	ctx := within(t, 10*time.Second)
	config, addrs, err := cluster.ParseURL("unix://" + path + "?db=2")
	require.NoError(t, err)
	client := open(t, config, addrs)
	require.Equal(t, "unix", client.Addr().Network())
	require.Equal(t, path, client.Primary(0))
	pipe := pipeline.New(client)
	total := pipe.IncrBy("here", 3)
	require.NoError(t, pipe.Do(ctx))
	requireInt(t, 3, total)
	var n int
	require.NoError(t, client.Do(ctx, radix.WithConn("here", func(ctx context.Context, conn radix.Conn) error {
		return conn.Do(ctx, radix.Cmd(&n, "DBSIZE"))
	})))
	require.EqualValues(t, 1, n)
	require.NoError(t, real.Nodes()[0].Do(ctx, &n, "DBSIZE"))
	require.Zero(t, n, "database 0 is another one")
}

// TestOrderWithoutSlots: without cluster mode, a command may have keys in several slots. Then all commands of a request that have keys keep
// their order, as those of one slot do elsewhere: a command that was refused is not sent again behind a later one that has run.
func TestOrderWithoutSlots(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]cluster.Config{"found out": {}, "standalone": {Standalone: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused, ran := false, ""
				w := newWorld(func(_ string, cmd []string) string {
					switch {
					case cmd[0] == "SET" && !refused:
						refused = true
						return "-LOADING not now\r\n"
					case cmd[0] == "SET" || cmd[0] == "MSET":
						ran += strings.Join(cmd, " ") + ";"
					}
					return "+OK\r\n"
				})
				w.slots = noCluster
				p := pipeline.New(w.open(t, config))
				set, mset := p.Cmd("SET", "a", "old"), p.Cmd("MSET", "a", "new", "b", "new")
				require.Error(t, p.Do(soon(t, time.Second)))
				require.NoError(t, mset.Err())
				require.ErrorIs(t, set.Err(), redislanes.ErrRefused)
				require.Equal(t, "MSET a new b new;", ran)
			})
		})
	}
}
