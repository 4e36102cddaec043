package wire

import "time"

// A server closes idle connections: CONFIG SET timeout, CLIENT KILL, a proxy that reaps. A
// command that is written behind that ends with an unknown outcome. A lane that nobody
// reads from does not notice, and a background reader may notice too late where the
// processors are busy. So before the first batch after an idle time the lane asks its
// socket whether the other side has closed it, which costs one system call. Between the
// reply and the next command of a busy lane there is none.
//
// Over TLS, the socket below is asked, whose bytes are no application data: session tickets
// or a close_notify. Only the end of the TCP connection counts, which Linux tells also
// where bytes are still to be read. Elsewhere those hide it.

// idleLeast is how long a lane has been idle before its socket is asked.
const idleLeast = 5 * time.Millisecond

// rest notes that nothing is in flight any more.
func (l *Lane) rest() { l.restedAt.Store(int64(Now())) }

// hungUp returns why an idle lane is of no use, nil if nothing is known against it.
func (l *Lane) hungUp() error {
	if l.gauge.InFlight.Load() > 0 || int64(Now())-l.restedAt.Load() < int64(idleLeast) {
		return nil
	}
	if l.secure != nil {
		return l.secure.socket.ended()
	}
	return l.plain.ended()
}
