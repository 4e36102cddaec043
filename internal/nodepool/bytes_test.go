package nodepool

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// TestLanesAreBoundedByBytes: large values for a server that takes none wait with
// their callers, not in a copy on the lane.
func TestLanesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	const callers, size = 60, 128 << 10
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	quiet := Options{SuspectAfter: time.Minute, StallTimeout: time.Minute}
	p, err := New(Laned{Lanes: 1, MaxQueuedBytes: 4 * size, Options: quiet}, lanes.Dialer{NetDial: dialSmall}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	ctx := within(t, 20*time.Second)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	proxy.Stall(redistest.ToServer)
	value := strings.Repeat("x", size)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if err := p.Do(ctx, radix.Cmd(nil, "APPEND", "k", value)); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "all callers wait", func() bool {
		s := p.figures()
		return s.InFlight+s.Waiters == callers
	})
	require.LessOrEqual(t, p.figures().InFlight, callers/2, "what the socket took, what is being written and what waits behind")
	proxy.Flow(redistest.ToServer)
	wg.Wait()
	var n int
	require.NoError(t, p.Do(ctx, radix.Cmd(&n, "STRLEN", "k")))
	require.Equal(t, callers*size, n)
}

func TestQueuedBytesAreValidated(t *testing.T) {
	t.Parallel()
}

// dialSmall dials TCP with a small write buffer, as a slow link has one.
func dialSmall(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetWriteBuffer(64 << 10)
	}
	return conn, err
}
