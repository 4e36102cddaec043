package wire

import (
	"encoding/binary"
	"math"
	"syscall"
	"time"
)

// Of linux/tcp.h and net/tcp_states.h; package syscall has them only in part.
const (
	tcpUserTimeout = 18
	tcpEstablished = 1
)

// setUserTimeout sets how long sent bytes may be unacknowledged.
func setUserTimeout(fd uintptr, limit time.Duration) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(min(limit.Milliseconds(), math.MaxInt32)))
}

// halfClosed reports whether the other side has closed the TCP connection, also where bytes
// that it sent before are still to be read. It is false where that is not known.
func halfClosed(fd uintptr) bool {
	info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	if err != nil { // a unix socket
		return false
	}
	var first [4]byte // of struct tcp_info
	binary.NativeEndian.PutUint32(first[:], uint32(info))
	return first[0] != tcpEstablished
}
