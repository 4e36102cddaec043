//go:build !unix

package wire

import (
	"net"
	"syscall"
)

// rawWriter returns nil: without non-blocking writes, a goroutine writes.
func rawWriter(net.Conn) syscall.RawConn { return nil }

func (l *Lane) tryWrite(uintptr) bool { return true }
