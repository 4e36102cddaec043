package redistest

import (
	"net"
	"sync"
	"time"
)

// A link is one connection through a proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	ended          chan struct{}
	free           [2]time.Time // when a direction's rate lets it send again; of its own goroutine
}

// A chunk is bytes on their way.
type chunk struct {
	data    []byte
	arrived time.Time
}

const (
	chunkSize = 16 << 10
	// chunksOnTheWay bounds what a delay may hold back on one connection.
	chunksOnTheWay = 64

	// throttledBuffer is what the socket before a slow direction holds. By itself
	// the kernel lets it grow to megabytes, which a sender would take for sent.
	throttledBuffer = 64 << 10
)

// reset ends the link as a network does: both sides get a reset.
func (l *link) reset() {
	l.once.Do(func() {
		// The client first: once the server's side has ended, the stream to the
		// client may be closed in an orderly way.
		resetConn(l.client)
		resetConn(l.server)
		close(l.ended)
	})
}

// run carries bytes until both sides have ended.
func (l *link) run(inject func([]string) string) {
	var streams sync.WaitGroup
	if inject != nil {
		l.answer(inject)
		return
	}
	streams.Go(func() { l.carry(ToServer, l.client) })
	streams.Go(func() { l.carry(ToClient, l.server) })
	streams.Wait()
	l.reset()
}

// carry reads from one side and sends to the other what has been on its way for
// long enough.
func (l *link) carry(d Direction, from net.Conn) {
	way := make(chan chunk, chunksOnTheWay)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(way)
		bounded := false
		for {
			if tcp, ok := from.(*net.TCPConn); ok && !bounded && l.proxy.settings(d).rate > 0 {
				_ = tcp.SetReadBuffer(throttledBuffer)
				bounded = true
			}
			buf := make([]byte, chunkSize)
			n, err := from.Read(buf)
			if n > 0 {
				select {
				case way <- chunk{buf[:n], time.Now()}:
				case <-l.ended:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range way {
		if !l.send(d, c) {
			l.reset()
			break
		}
	}
	l.closeWrite(d)
	reader.Wait()
}

// closeWrite closes a direction towards one side, as the other side has done.
func (l *link) closeWrite(d Direction) {
	if tcp, ok := l.to(d).(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func (l *link) to(d Direction) net.Conn {
	if d == ToServer {
		return l.server
	}
	return l.client
}

// send lets a chunk suffer what the direction suffers now. It returns false if
// the connection is at its end.
func (l *link) send(d Direction, c chunk) bool {
	if !l.pause(time.Until(c.arrived.Add(l.proxy.settings(d).delay))) {
		return false
	}
	for len(c.data) > 0 {
		if !l.flows(d) {
			return false
		}
		piece := c.data
		rate := l.proxy.settings(d).rate
		if rate > 0 {
			piece = piece[:min(len(piece), max(1, rate/200))]
		}
		n, cut := l.proxy.pass(d, len(piece))
		if n > 0 {
			if _, err := l.to(d).Write(piece[:n]); err != nil {
				return false
			}
		}
		if cut {
			return false
		}
		if rate > 0 && !l.pace(d, time.Duration(len(piece))*time.Second/time.Duration(rate)) {
			return false
		}
		c.data = c.data[n:]
	}
	return true
}

// oversleep is how late a pause may end and still be made up for. On a busy machine pauses take
// several times as long as asked.
const oversleep = 100 * time.Millisecond

// pace waits for the time that the bytes just sent need. A pause takes longer than asked, and
// the next pauses are shorter by as much.
func (l *link) pace(d Direction, takes time.Duration) bool {
	if now := time.Now(); now.Sub(l.free[d]) > oversleep {
		l.free[d] = now // nothing was sent for a while, which is no credit
	}
	l.free[d] = l.free[d].Add(takes)
	return l.pause(time.Until(l.free[d]))
}

// flows waits until the direction does not stall.
func (l *link) flows(d Direction) bool {
	for {
		stalled := l.proxy.settings(d).stall
		if stalled == nil {
			return true
		}
		select {
		case <-stalled:
		case <-l.ended:
			return false
		}
	}
}

// pause lets time pass, which is what delays and rates are made of.
func (l *link) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ended:
		return false
	}
}
