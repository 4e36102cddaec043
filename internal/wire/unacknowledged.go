package wire

import (
	"strings"
	"syscall"
	"time"
)

// leastUnacknowledged is the least time after which the kernel ends a connection whose
// bytes the other side does not acknowledge. It is that of a pool's PauseTimeout: a server
// may take no bytes for as long as a graceful failover makes writers wait, and Linux also
// counts the time in which the other side acknowledges probes and has no room.
const leastUnacknowledged = 10 * time.Second

// limitUnacknowledged returns a net.Dialer.Control for that, where the kernel knows it. What
// it cannot set is left as it is.
func limitUnacknowledged(writeTimeout time.Duration) func(network, addr string, raw syscall.RawConn) error {
	limit := max(leastUnacknowledged, writeTimeout)
	return func(network, _ string, raw syscall.RawConn) error {
		if strings.HasPrefix(network, "tcp") {
			_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, limit) })
		}
		return nil
	}
}
