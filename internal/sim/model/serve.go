package model

import (
	"net"
	"sync"
)

// Serve returns what serves a connection to the node: it reads commands, runs
// them and writes their replies, as many in one write as have come, until either
// side hangs up. It closes the connection.
func (c *Cluster) Serve(n *Node) func(net.Conn) {
	return func(conn net.Conn) {
		v := &server{conn: conn}
		v.out.conn = conn
		v.out.idle.L = &v.out.mu
		defer conn.Close()
		if !v.accept(n) {
			return
		}
		defer v.s.Close()
		v.serve()
		v.out.drain()
		if v.ahead != nil {
			close(v.ahead.done)
		}
	}
}

// A server serves one connection.
type server struct {
	conn  net.Conn
	s     *Session
	in    parser
	out   output
	ahead *reader // nil: the server itself reads
}

// accept begins the session, unless the node is dead.
func (v *server) accept(n *Node) bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if !n.up() {
		return false
	}
	v.s = n.newSession(v.out.deliver)
	v.s.close = func() { _ = v.conn.Close() }
	return true
}

func (v *server) serve() {
	for !v.s.closing {
		args, err := v.in.next()
		switch {
		case err != nil:
			v.s.out.err(err.Error())
			v.flush()
			return
		case args == nil:
			v.flush()
			if v.fill() != nil {
				return
			}
		case len(args) > 0:
			v.run(args)
		}
	}
	v.flush()
}

func (v *server) run(args [][]byte) {
	p := v.s.start(args)
	if p == nil {
		return
	}
	v.flush()
	if v.ahead == nil {
		v.ahead = newReader(v.conn)
	}
	for p != nil {
		p = p.wait(v.ahead.gone)
	}
}

// flush writes the replies that there are. Their place among the messages of channels is
// decided under the cluster's lock.
func (v *server) flush() {
	s := v.s
	s.c.mu.Lock()
	b := s.take()
	large := len(b) > largeWrite
	mine := len(b) > 0 && v.out.begin(b, large)
	s.c.mu.Unlock()
	switch {
	case !mine:
	case large:
		go v.out.run(nil)
	default:
		v.out.run(b)
	}
}

// take returns the replies since the last call; they are valid until the next one.
// Whoever ends a parked command adds its reply meanwhile.
func (s *Session) take() []byte {
	s.out.b, s.taken = s.taken[:0], s.out.b
	return s.taken
}

// fill waits for more bytes.
func (v *server) fill() error {
	if v.ahead != nil {
		got := <-v.ahead.chunks
		v.in.add(got.b)
		return got.err
	}
	n, err := v.conn.Read(v.in.room())
	v.in.grew(n)
	if n > 0 {
		return nil
	}
	return err
}

// A reader reads from a connection whose session has been parked, from then on, to
// notice that the client is gone.
type reader struct {
	chunks chan chunk
	gone   chan struct{} // closed when the client is
	done   chan struct{} // closed when nobody takes chunks any more
}

type chunk struct {
	b   []byte
	err error
}

func newReader(conn net.Conn) *reader {
	const ahead = 64 // reads; more wait
	r := &reader{chunks: make(chan chunk, ahead), gone: make(chan struct{}), done: make(chan struct{})}
	go func() {
		for {
			b := make([]byte, 4<<10)
			n, err := conn.Read(b)
			if err != nil {
				close(r.gone)
			}
			select {
			case r.chunks <- chunk{b[:n], err}:
			case <-r.done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

// An output is what is written to a connection, in order. Large replies and
// messages of channels are written by a goroutine of their own, so that a client
// that does not read them holds nobody up.
type output struct {
	conn net.Conn

	mu      sync.Mutex // guards what follows; not held while writing
	queue   []byte
	writing bool
	idle    sync.Cond // nobody is writing
}

const largeWrite = 32 << 10

// deliver writes a message.
func (o *output) deliver(b []byte) {
	if o.begin(b, true) {
		go o.run(nil)
	}
}

// begin reports whether the caller is to write; if somebody writes already, or
// the caller does not write b itself, b is queued.
func (o *output) begin(b []byte, queue bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || queue {
		o.queue = append(o.queue, b...)
	}
	if o.writing {
		return false
	}
	o.writing = true
	return true
}

func (o *output) run(b []byte) {
	for {
		if len(b) > 0 {
			if _, err := o.conn.Write(b); err != nil {
				_ = o.conn.Close()
			}
		}
		o.mu.Lock()
		if b, o.queue = o.queue, nil; len(b) == 0 {
			o.writing = false
			o.idle.Broadcast()
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
	}
}

// drain waits until nobody writes.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.idle.Wait()
	}
}
