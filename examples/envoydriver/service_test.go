package envoydriver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

const password = "canary-password"

// topologies start servers and return how they are reached.
var topologies = map[string]func(t *testing.T) Options{
	"single": func(t *testing.T) Options {
		return Options{Type: "SINGLE", URL: servers.StartServer(t, servers.Options{}).Addrs()[0]}
	},
	"unix": func(t *testing.T) Options {
		dir, err := os.MkdirTemp("", "socket") // the path must be short
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		socket := filepath.Join(dir, "redis.sock")
		servers.StartServer(t, servers.Options{Directives: []string{"unixsocket " + socket}})
		return Options{Type: "SINGLE", SocketType: "unix", URL: socket}
	},
	"single, TLS and password": func(t *testing.T) Options {
		s := servers.StartServer(t, servers.Options{TLS: true, ClientCerts: true, Password: password})
		return Options{Type: "single", URL: s.Addrs()[0], Auth: password, TLS: s.TLSConfig()}
	},
	"cluster": func(t *testing.T) Options {
		return Options{Type: "CLUSTER", URL: strings.Join(servers.StartCluster(t, servers.Options{}).Addrs(), ",")}
	},
	"cluster, TLS and user": func(t *testing.T) Options {
		c := servers.StartCluster(t, servers.Options{TLS: true, Username: "limiter", Password: password})
		return Options{Type: "cluster", URL: strings.Join(c.Addrs(), ","), Auth: "limiter:" + password, TLS: c.TLSConfig()}
	},
	"sentinel, passwords": func(t *testing.T) Options {
		c := servers.StartWithSentinels(t, servers.Options{Replicas: 1, Password: password})
		name := servers.PrimaryName + "," + strings.Join(c.SentinelAddrs(), ",")
		return Options{Type: "SENTINEL", URL: name, Auth: password, SentinelAuth: password}
	},
}

func connect(tb testing.TB, o Options) *Driver {
	client, err := New(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, client.Close()) })
	return client
}

const window = int64(60)

// hit counts a hit on each key as the service does, and returns the totals.
func hit(client Client, keys []string, hits ...uint64) ([]uint64, error) {
	totals := make([]uint64, len(keys))
	var p Pipeline
	for i, key := range keys {
		p = client.PipeAppend(p, &totals[i], "INCRBY", key, hits[i%len(hits)])
		p = client.PipeAppend(p, nil, "EXPIRE", key, window)
	}
	return totals, client.PipeDo(context.Background(), p)
}

// TestFixedWindow is a request of the service with ten keys, in ten slots, at every
// kind of server: counted, limited, and gone with its window.
func TestFixedWindow(t *testing.T) {
	t.Parallel()
	for name, start := range topologies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, start(t))
			// The dial is told of by another goroutine than the one that uses the connection.
			require.Eventually(t, func() bool { return client.NumActiveConns() > 0 }, time.Minute, time.Millisecond)
			keys := redistest.KeysInSlots(10, "window")
			for n := uint64(1); n <= 7; n++ {
				totals, err := hit(client, keys, 1)
				require.NoError(t, err)
				for _, total := range totals {
					require.Equal(t, n, total)
				}
			}
			for _, key := range keys {
				var ttl int64
				require.NoError(t, client.DoCmd(&ttl, "TTL", key))
				require.InDelta(t, window, ttl, 30)
			}
		})
	}
}
