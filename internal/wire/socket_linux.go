package wire

import (
	"math"
	"syscall"
	"time"
)

// tcpUserTimeout is of linux/tcp.h; package syscall does not have it.
const tcpUserTimeout = 18

// setUserTimeout sets how long sent bytes may be unacknowledged.
func setUserTimeout(fd uintptr, limit time.Duration) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(min(limit.Milliseconds(), math.MaxInt32)))
}
