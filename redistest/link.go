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
	tasks          sync.WaitGroup
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
func (l *link) run() {
	toServer, toClient := l.read(ToServer, l.client), l.read(ToClient, l.server)
	l.tasks.Go(func() { l.deliver(ToServer, toServer) })
	l.tasks.Go(func() { l.deliver(ToClient, toClient) })
	l.tasks.Wait()
	l.reset()
}

// read returns what arrives from one side, until that side or the link ends.
func (l *link) read(d Direction, from net.Conn) <-chan chunk {
	way := make(chan chunk, chunksOnTheWay)
	l.tasks.Go(func() {
		defer close(way)
		bounded := false
		for {
			if tcp, ok := from.(*net.TCPConn); ok && !bounded && l.proxy.settings(d).rate > 0 {
				_ = tcp.SetReadBuffer(throttledBuffer)
				bounded = true
			}
			buf := make([]byte, chunkSize)
			n, err := from.Read(buf)
			if n > 0 && !l.put(way, chunk{buf[:n], time.Now()}) || err != nil {
				return
			}
		}
	})
	return way
}

// put passes the chunk on. It returns false if the link has ended.
func (l *link) put(way chan<- chunk, c chunk) bool {
	select {
	case way <- c:
		return true
	case <-l.ended:
		return false
	}
}

// deliver sends each chunk when its delay is over, until the stream or the link ends.
func (l *link) deliver(d Direction, way <-chan chunk) {
	for l.deliverNext(d, way) {
	}
	l.closeWrite(d)
}

func (l *link) deliverNext(d Direction, way <-chan chunk) (more bool) {
	select {
	case c, ok := <-way:
		if !ok {
			return false
		}
		if !l.send(d, c) {
			l.reset()
			return false
		}
		return true
	case <-l.ended:
		return false
	}
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
