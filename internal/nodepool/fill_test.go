package nodepool

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestFilled: waiting ends with a full pool, with the first dial that fails, and with the
// pool.
func TestFilled(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	for name, c := range map[string]struct {
		settings Config
		keeps    int
	}{"fixed": {Fixed{Size: 7}, 7}, "adaptive": {Adaptive{Min: 3, Max: 9}, 3}, "laned": {Laned{Lanes: 2}, 2}} {
		p := open(t, c.settings, server)
		<-p.Filled()
		require.GreaterOrEqual(t, p.Stats().Open, c.keeps, name)
	}

	nobody, err := New(Fixed{Size: 2}, lanes.Dialer{}, "127.0.0.1:1", nil)
	require.NoError(t, err)
	<-nobody.Filled()
	require.Zero(t, nobody.Stats().Open)
	require.NoError(t, nobody.Close())

	hang := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, end := range map[string]func(*Node){"closed": func(n *Node) { _ = n.Close() }, "retired": (*Node).Retire} {
		n, err := New(Fixed{Size: 2}, lanes.Dialer{NetDial: hang}, "127.0.0.1:1", nil)
		require.NoError(t, err)
		select {
		case <-n.Filled():
			require.Fail(t, "filled before it is "+name)
		default:
		}
		end(n)
		<-n.Filled()
		require.NoError(t, n.Close())
	}
}
