package redistest

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fullServer returns the address of a server that answers no dial: its queue is full.
func fullServer(t *testing.T) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for {
		conn, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// TestProxyClosesWhileItDials: Close does not wait for a server that answers no dial.
func TestProxyClosesWhileItDials(t *testing.T) {
	t.Parallel()
	p := StartProxy(t, fullServer(t))
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool { return p.Dials() == 1 }, 5*time.Second, time.Millisecond)
	began := time.Now()
	require.NoError(t, p.Close())
	require.Less(t, time.Since(began), 5*time.Second)
}
