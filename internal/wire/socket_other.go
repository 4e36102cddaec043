//go:build !unix

package wire

import "net"

// A socket is what has non-blocking writes, which these systems do not have.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) write([]byte) (int, error) { return 0, nil }

func (*socket) ended() error { return nil }
