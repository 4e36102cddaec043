package wire

import "sync/atomic"

// Traffic counts the bytes of all lanes that it was given to ([Lane.CountTraffic]),
// once for each read and write. The zero value is ready to use; its methods are safe
// for concurrent use.
type Traffic struct{ sent, received atomic.Uint64 }

// Sent returns how many bytes were handed to sockets.
func (t *Traffic) Sent() uint64 { return t.sent.Load() }

// Received returns how many bytes were read.
func (t *Traffic) Received() uint64 { return t.received.Load() }

// CountTraffic makes the bytes that are sent and received from now on part of the
// count; those of the handshake are not among them.
func (l *Lane) CountTraffic(t *Traffic) { l.traffic.Store(t) }

// received notes that n bytes were read.
func (l *Lane) received(n int) {
	l.progress.Add(1)
	if t := l.traffic.Load(); t != nil {
		t.received.Add(uint64(n))
	}
}
