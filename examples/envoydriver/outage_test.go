package envoydriver

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

const patience = 30 * time.Second

// A listener is told of health and connections, as the service's health check and
// its metrics are.
type listener struct {
	health chan bool

	mu                   sync.Mutex // guards what follows
	open, opened, closed int
}

func listen(o *Options) *listener {
	l := &listener{health: make(chan bool, 64)}
	o.Health = func(healthy bool) { l.health <- healthy }
	o.Conns = func(open, change int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open = open; change > 0 {
			l.opened++
		} else {
			l.closed++
		}
	}
	return l
}

func (l *listener) requireHealth(t *testing.T, want bool) {
	t.Helper()
	select {
	case healthy := <-l.health:
		require.Equal(t, want, healthy)
	case <-time.After(patience):
		require.Fail(t, "health is not told", "want %v", want)
	}
}

// waitOpen waits until so many connections are open.
func (l *listener) waitOpen(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open == want
	}, patience, time.Millisecond)
}

// waitHit hits the keys until that has no error.
func waitHit(t *testing.T, client Client, keys ...string) {
	t.Helper()
	for ctx := servers.Within(t, patience); ; time.Sleep(time.Millisecond) {
		_, err := hit(client, keys, 1)
		if err == nil {
			return
		}
		requireRedisError(t, err, "")
		require.NoError(t, ctx.Err(), "the last error: %v", err)
	}
}

// TestOutage: a server dies and comes back. Connections, health and errors say so,
// and nothing needs to be done.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := servers.StartServer(t, servers.Options{})
	o := Options{Type: "SINGLE", URL: s.Addrs()[0], PoolSize: 1}
	l := listen(&o)
	client := connect(t, o)
	l.requireHealth(t, true)
	for range 2 {
		require.NoError(t, s.Nodes()[0].Kill())
		l.requireHealth(t, false)
		l.waitOpen(t, 0)
		require.Zero(t, client.NumActiveConns())
		_, err := hit(client, []string{"a"}, 1)
		requireRedisError(t, err, "")
		require.ErrorIs(t, err, redislanes.ErrNotSent)

		require.NoError(t, s.Nodes()[0].Restart(servers.Within(t, patience)))
		l.requireHealth(t, true)
		waitHit(t, client, "a")
		require.NotZero(t, client.NumActiveConns())
	}
	require.Empty(t, l.health, "it is told of changes only")
}

// TestOneNodeFails: what the other nodes have is counted in the same call, and the
// service stays healthy.
func TestOneNodeFails(t *testing.T) {
	t.Parallel()
	c := servers.StartCluster(t, servers.Options{NodeTimeout: time.Minute}) // the others go on
	o := Options{Type: "CLUSTER", URL: strings.Join(c.Addrs(), ","), PoolSize: 1}
	l := listen(&o)
	client := connect(t, o)
	keys := redistest.KeysInSlots(3, "node") // one on each
	_, err := hit(client, keys, 1)
	require.NoError(t, err)
	l.requireHealth(t, true)
	l.waitOpen(t, 3)

	require.NoError(t, c.Nodes()[1].Kill())
	l.waitOpen(t, 2)
	totals, err := hit(client, keys, 1)
	requireRedisError(t, err, "")
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.Equal(t, []uint64{2, 0, 2}, totals)
	l.waitOpen(t, 2)
	require.Equal(t, 2, client.NumActiveConns())
	require.Empty(t, l.health)

	require.NoError(t, c.Nodes()[1].Restart(servers.Within(t, patience)))
	waitHit(t, client, keys[1])
	l.waitOpen(t, 3)
}

// TestClose: no connection is left, and calls fail.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, topology := range []string{"single", "cluster", "sentinel, passwords"} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			o := topologies[topology](t)
			l := listen(&o)
			client, err := New(t.Context(), o)
			require.NoError(t, err)
			_, err = hit(client, redistest.KeysInSlots(9, "close"), 1)
			require.NoError(t, err)
			l.requireHealth(t, true)
			require.NoError(t, client.Close())
			require.NoError(t, client.Close())
			l.requireHealth(t, false)
			require.Zero(t, client.NumActiveConns())
			require.Zero(t, l.open)
			require.Equal(t, l.opened, l.closed)
			_, err = hit(client, []string{"a"}, 1)
			requireRedisError(t, err, "closed")
			requireRedisError(t, client.DoCmd(nil, "GET", "a"), "closed")
		})
	}
}
