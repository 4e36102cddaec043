package wire

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// TestUnacknowledgedBytesAreLimited: connections that the Dialer makes itself end when the
// other side does not acknowledge; those of a program's NetDial are its own.
func TestUnacknowledgedBytesAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		dialer lanes.Dialer
		want   time.Duration
	}{
		"defaults":             {lanes.Dialer{}, 10 * time.Second},
		"a long write timeout": {lanes.Dialer{Timeout: time.Minute}, time.Minute},
		"a short one":          {lanes.Dialer{Timeout: time.Second}, 10 * time.Second},
		"own NetDial": {lanes.Dialer{NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := dialWith(t, c.dialer, scripted(t, (*peer).echo), noEvents{})
			raw, err := l.conn.Conn.(*net.TCPConn).SyscallConn()
			require.NoError(t, err)
			require.NoError(t, raw.Control(func(fd uintptr) {
				limit, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
				require.NoError(t, err)
				require.Equal(t, c.want, time.Duration(limit)*time.Millisecond)
			}))
		})
	}
}
