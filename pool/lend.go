package pool

import (
	"context"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/lanes"
)

// A Lent is a connection that one user has to itself, for transactions and
// blocking commands. It is a radix.Conn. Return it with [Lent.Return]. It is
// not safe for concurrent use.
type Lent struct {
	member *member
	// What keeps the connection from being given to somebody else.
	transaction bool // MULTI or WATCH
	changed     bool // SELECT, SUBSCRIBE and the like
}

var _ radix.Conn = (*Lent)(nil)

// Lend waits for a connection, or dials one, and lends it until it is
// returned. The error wraps lanes.ErrNotSent.
func (p *Pool) Lend(ctx context.Context) (*Lent, error) {
	if p.shared {
		from, err := p.lenderPool()
		if err != nil {
			return nil, lanes.NotSent(p.addr, err)
		}
		return from.Lend(ctx)
	}
	m, w, err := p.takeOrWait()
	if err != nil {
		return nil, lanes.NotSent(p.addr, err)
	}
	if m != nil {
		return &Lent{member: m}, nil
	}
	select {
	case r := <-w.lend:
		if r.err != nil {
			return nil, r.err
		}
		return &Lent{member: r.member}, nil
	case <-ctx.Done():
		p.leaveQueue(w)
		return nil, lanes.NotSent(p.addr, ctx.Err())
	}
}

func (p *Pool) lenderPool() (*Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.retired {
		return nil, ErrClosed
	}
	if p.lenders == nil {
		p.lenders = newPool(p.lentSettings(), p.dialer, p.addr, p.log)
	}
	return p.lenders, nil
}

func (p *Pool) takeOrWait() (*member, *waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		if m := p.popIdleLocked(); m.lane.Err() == nil {
			p.lendLocked(m)
			return m, nil, nil
		}
	}
	w := &waiter{lend: make(chan lendResult, 1)}
	return nil, w, p.waitLocked(w)
}

func (p *Pool) lendLocked(m *member) {
	m.becomeLocked(lent)
	m.lane.SetLent(true)
}

// leaveQueue takes w out of the queue; a connection that it was given in the
// last moment goes to the next one.
func (p *Pool) leaveQueue(w *waiter) {
	p.mu.Lock()
	for e := p.queue.Front(); e != nil; e = e.Next() {
		if e.Value.(*waiter) == w {
			p.removeLocked(e)
			p.unlock()
			return
		}
	}
	p.mu.Unlock()
	if r := <-w.lend; r.member != nil {
		(&Lent{member: r.member}).Return()
	}
}

// Return gives the connection back. One with an open transaction, a watched
// key, another database or an outstanding reply is closed and replaced.
func (c *Lent) Return() {
	m := c.member
	p := m.pool
	unclean := c.transaction || c.changed || m.lane.InFlight() > 0
	if !unclean {
		m.lane.SetLent(false)
	}
	flush := false
	p.mu.Lock()
	switch {
	case unclean:
		m.becomeLocked(gone)
	case m.state == lent && !p.closed:
		m.startLocked()
		flush = p.freeLocked(m)
	}
	p.unlock()
	switch {
	case unclean:
		m.lane.Fail(errUnclean)
	case flush:
		m.lane.Flush()
	}
}

// Addr returns the server's address; part of radix.Conn.
func (c *Lent) Addr() net.Addr { return c.member.lane.Addr() }

// Do performs the action on this connection; part of radix.Conn.
func (c *Lent) Do(ctx context.Context, action radix.Action) error {
	return lanes.Perform(ctx, action, c)
}

// Close closes the connection; part of radix.Conn. It must still be returned.
func (c *Lent) Close() error { return c.member.lane.Close() }

// EncodeDecode is lanes.Lane.EncodeDecode; part of radix.Conn.
func (c *Lent) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	return lanes.EncodeDecode(ctx, c, marshal, unmarshalInto)
}

// Submit is part of lanes.Submitter. It notes what the commands do to the
// connection.
func (c *Lent) Submit(b *lanes.Batch) (mine bool) {
	b.Each(c.note)
	return c.member.lane.Submit(b)
}

// Abandon is part of lanes.Submitter.
func (c *Lent) Abandon(b *lanes.Batch, cause error) { b.Abandon(cause) }

// Address returns the server's address, host:port.
func (c *Lent) Address() string { return c.member.lane.Address() }

// Exclusive is part of lanes.Submitter: any command may be sent.
func (c *Lent) Exclusive() bool { return true }

func (c *Lent) note(encoded []byte) {
	switch command.Of(encoded).Effect() {
	case command.NoEffect:
	case command.OpensTransaction, command.Watches:
		c.transaction = true
	case command.EndsTransaction, command.Unwatches:
		c.transaction = false
	default:
		c.changed = true
	}
}
