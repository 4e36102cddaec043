package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// A Direction is one of the two streams of a connection.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

func (d Direction) String() string { return [...]string{"to the server", "to the client"}[d] }

// A Proxy is a TCP proxy before one server that disturbs connections as networks do. Its methods
// act on open connections and on later ones, except Reset and Refuse. They are safe for
// concurrent use.
type Proxy struct {
	target   string
	listener net.Listener
	tasks    sync.WaitGroup
	dialing  context.Context // ends when the proxy is closed
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	stop     context.CancelFunc

	mu      sync.Mutex // guards what follows
	streams [2]stream
	links   map[*link]bool
	refuse  bool
	dials   int
	closed  bool
}

// A stream is what happens to one direction, on all connections.
type stream struct {
	delay   time.Duration
	rate    int           // bytes a second, of each connection; 0: no limit
	stall   chan struct{} // not nil: nothing passes until it is closed
	cutting bool
	left    int           // bytes that pass until a connection is cut
	cut     chan struct{} // closed by the cut
}

// StartProxy starts a proxy before the server at target, host:port, and stops
// it at the test's end.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p, err := LaunchProxy(target)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// LaunchProxy starts a proxy, which the caller must Close.
func LaunchProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redistest: proxy: %w", err)
	}
	p := &Proxy{target: target, listener: l, dial: new(net.Dialer).DialContext, links: make(map[*link]bool)}
	p.dialing, p.stop = context.WithCancel(context.Background())
	p.tasks.Go(p.accept)
	return p, nil
}

// Addr returns the proxy's address, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target returns the server's address, host:port.
func (p *Proxy) Target() string { return p.target }

// Delay makes all bytes in the direction arrive later by so long. Bytes that are sent together also
// arrive together. On each connection 64
// reads can be on their way in a direction; the next one waits, which slows down many small writes.
func (p *Proxy) Delay(d Direction, by time.Duration) {
	p.change(d, func(s *stream) { s.delay = by })
}

// Throttle bounds the bytes a second of each connection in the direction; 0 for
// no limit.
func (p *Proxy) Throttle(d Direction, bytesPerSecond int) {
	p.change(d, func(s *stream) { s.rate = bytesPerSecond })
}

// Stall holds up everything in the direction until [Proxy.Flow].
func (p *Proxy) Stall(d Direction) {
	p.change(d, func(s *stream) {
		if s.stall == nil {
			s.stall = make(chan struct{})
		}
	})
}

// Flow ends a Stall.
func (p *Proxy) Flow(d Direction) {
	p.change(d, func(s *stream) {
		if s.stall != nil {
			close(s.stall)
			s.stall = nil
		}
	})
}

// CutAfter lets n more bytes pass in the direction, counted over all connections. Then it resets
// the connection that carries the next byte, and closes the channel. It cuts once. A later call
// replaces it, and a negative n cancels it: then the channel is not closed.
func (p *Proxy) CutAfter(d Direction, n int) <-chan struct{} {
	cut := make(chan struct{})
	p.change(d, func(s *stream) { s.cutting, s.left, s.cut = n >= 0, n, cut })
	return cut
}

// Refuse makes the proxy hang up on new connections, or stop doing so.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Reset resets all connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Dials returns how many connections were made to the proxy so far.
func (p *Proxy) Dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// Open returns how many connections are open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close resets all connections and waits for the proxy's goroutines. Closing
// again does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.stop()
		_ = p.listener.Close()
	}
	p.mu.Unlock()
	p.Reset()
	p.tasks.Wait()
	return nil
}

func (p *Proxy) change(d Direction, f func(s *stream)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.streams[d])
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.tasks.Go(func() { p.serve(client) })
	}
}

// serve connects one client to the server and returns when both streams end.
func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	p.dials++
	refuse := p.refuse || p.closed
	p.mu.Unlock()
	if refuse {
		resetConn(client)
		return
	}
	server, err := p.dial(p.dialing, "tcp", p.target)
	if err != nil {
		resetConn(client)
		return
	}
	l := &link{proxy: p, client: client, server: server, ended: make(chan struct{})}
	p.mu.Lock()
	p.links[l] = true
	closed := p.closed
	p.mu.Unlock()
	if closed {
		l.reset()
	}
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass decides on the next bytes of a connection: how many of them may pass,
// and whether the connection is cut behind these.
func (p *Proxy) pass(d Direction, n int) (allowed int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.streams[d]
	if !s.cutting {
		return n, false
	}
	if n <= s.left {
		s.left -= n
		return n, false
	}
	s.cutting = false
	close(s.cut)
	return s.left, true
}

func (p *Proxy) settings(d Direction) stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams[d]
}

// resetConn closes the connection so that the other side gets a reset.
func resetConn(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Proxies are proxies before several servers, by the servers' addresses.
type Proxies map[string]*Proxy

// StartProxies starts a proxy before each address and stops them at the test's
// end.
func StartProxies(tb testing.TB, addrs []string) Proxies {
	tb.Helper()
	all := make(Proxies)
	for _, addr := range addrs {
		all[addr] = StartProxy(tb, addr)
	}
	return all
}

// AddrMap translates a server's address into its proxy's; others stay.
func (p Proxies) AddrMap(addr string) string {
	if proxy := p[addr]; proxy != nil {
		return proxy.Addr()
	}
	return addr
}
