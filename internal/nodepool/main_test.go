package nodepool

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

var within = servers.Within

// open returns a pool to a real server.
func open(t testing.TB, c Config, server *servers.Cluster) *Node {
	t.Helper()
	p, err := New(c, lanes.Dialer{}, server.Addrs()[0], nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// sharedIn and exclusiveIn return the access of a pool of that kind, idleIn the
// idle connections of one of either kind.
func sharedIn(p *Node) *sharedAccess { return p.main.access.(*sharedAccess) }

func exclusiveIn(p *Node) *exclusiveAccess { return p.main.access.(*exclusiveAccess) }

func idleIn(p *Pool) []*member {
	if a, ok := p.access.(*exclusiveAccess); ok {
		return a.idle
	}
	return nil
}

// until waits for something that another goroutine or process brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx := within(t, 10*time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func get(t testing.TB, p *Node, key string) string {
	t.Helper()
	var got string
	require.NoError(t, p.Do(within(t, 5*time.Second), radix.Cmd(&got, "GET", key)))
	return got
}

var kinds = map[string]Config{
	"fixed":    Fixed{Size: 3},
	"adaptive": Adaptive{Min: 1, Max: 3},
	"laned":    Laned{Lanes: 3},
}

// noted makes the dialer note its connections. ends closes those that there are.
func noted(d *lanes.Dialer) (ends func()) {
	var mu sync.Mutex
	var conns []net.Conn
	dial := d.NetDial
	d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		}
		return conn, err
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// unsuspecting makes the pool take its time, half of the stall timeout, before it
// asks a silent server, as if round trips usually took very long.
func unsuspecting(p *Node) {
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	for range 100 {
		p.main.health.Trip(time.Hour)
	}
}
