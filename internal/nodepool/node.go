package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// A Node is the connections to one server. Make it with [NewFor]. All methods are safe
// for concurrent use.
//
// A node with shared connections has up to two pools: one for batches, and one of dedicated
// connections. Each has its own queue and judges the server by its own connections. The second
// one is made when it is first needed, and not while the first one knows the server to be down. A
// node with exclusive connections has one pool for everything.
type Node struct {
	*server
	main *Pool

	mu        sync.Mutex // guards the making of the other pool; never held across I/O
	dedicated *Pool
	ended     error // why no pool is made any more
}

// A server is what the pools of a node have in common.
type server struct {
	addr    string
	dialer  lanes.Dialer
	purpose wire.Purpose
	log     *guard.Log
}

// NewFor returns a node for the server at addr, host:port, with the defaults for a server
// that stands alone. It starts to connect in the background. An address that cannot be
// dialled, and a server that cannot be reached, fail the batches and not NewFor. The logger
// may be nil.
func NewFor(s Settings, d lanes.Dialer, purpose wire.Purpose, addr string, log *slog.Logger) (*Node, error) {
	if err := wire.CheckDialer(d); err != nil {
		return nil, err
	}
	to := &server{addr: addr, dialer: wire.Sealed(d), purpose: purpose, log: guard.NewLog(log)}
	return &Node{server: to, main: newPool(s.WithDefaults(false), to)}, nil
}

// Address returns the server's address, host:port.
func (s *server) Address() string { return s.addr }

// Submit sends the batch over a connection, or queues it until one is free, or
// fails it; it does not block. See wire.Submitter for mine.
func (n *Node) Submit(b *wire.Batch) (mine bool) {
	p, err := n.main, error(nil)
	if b.Alone {
		p, err = n.dedicatedPool()
	}
	if err != nil {
		b.Fail(n.addr, err)
		return false
	}
	return p.access.submit(b)
}

// Abandon gives up waiting for a batch that was submitted.
func (n *Node) Abandon(b *wire.Batch, cause error) {
	p := n.main
	if b.Alone {
		all := n.pools()
		p = all[len(all)-1]
	}
	p.abandon(b, cause)
}

// Dedicate waits for a connection, or dials one. It is its user's until it is
// returned. The error wraps redislanes.ErrNotSent.
func (n *Node) Dedicate(ctx context.Context) (*Dedicated, error) {
	if ctx == nil {
		return nil, wire.NotSent(n.addr, cause.ErrNilContext)
	}
	from, err := n.dedicatedPool()
	if err != nil {
		return nil, wire.NotSent(n.addr, err)
	}
	return from.access.(*exclusiveAccess).dedicate(ctx)
}

// dedicatedPool returns the pool of dedicated connections, and makes it if there is none.
func (n *Node) dedicatedPool() (*Pool, error) {
	if !n.main.shared() { // they come from the one pool
		return n.main, nil
	}
	down := n.main.Down()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.ended != nil:
		return nil, n.ended
	case down != nil:
		return nil, down
	case n.dedicated == nil:
		n.dedicated = newPool(n.main.dedicatedSettings(), n.server)
	}
	return n.dedicated, nil
}

// pools returns those that exist, the main one first.
func (n *Node) pools() []*Pool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dedicated == nil {
		return []*Pool{n.main}
	}
	return []*Pool{n.main, n.dedicated}
}

// endFor sees to it that no pool is made any more because of why, and returns those that
// exist.
func (n *Node) endFor(why error) []*Pool {
	n.mu.Lock()
	if n.ended == nil {
		n.ended = why
	}
	n.mu.Unlock()
	return n.pools()
}

// Down returns why nothing is sent to the server: a cause.Down, or nil
// if it is neither down nor suspect, as far as is known, which costs one atomic
// load.
func (n *Node) Down() error { return n.main.Down() }

// HeardWithin reports whether the server was heard in the last d over a connection of the pools,
// or has answered a probe. Another server than the purpose admits is not heard.
func (n *Node) HeardWithin(d time.Duration) bool {
	return slices.ContainsFunc(n.pools(), func(p *Pool) bool { return p.heardWithin(d) })
}

// ReplyTime returns the best reply time of the connections for batches, as far as is known, which costs one
// atomic load. A server that is passed over because of it is asked by a PING now and then.
func (n *Node) ReplyTime() time.Duration {
	t := time.Duration(n.main.reply.Load())
	if health.Late(t) {
		n.main.passed.Store(true)
	}
	return t
}

// Connected reports whether there is a connection for batches.
func (n *Node) Connected() bool { return n.main.connected() }

// Quiet reports whether nothing is in flight or waiting and no user has a dedicated
// connection. A PING of a pool's is in flight, too: whether there is anything else
// beside it cannot be told for certain.
func (n *Node) Quiet() bool {
	return !slices.ContainsFunc(n.pools(), func(p *Pool) bool { return !p.quiet() })
}

// Renew replaces the connections, each when nothing is in flight on it, because a
// server's reply says that the address may lead to another server now. Dedicated ones leave
// when they are returned, and those that are being dialled when they join. Two renewals are a
// second apart at least. See [Node.Replace] for what is known for certain.
//
// Renew reports whether connections were replaced since the time, or are now: then what a server has
// replied to a command that was sent at that time says nothing about the new ones.
func (n *Node) Renew(since time.Time) (renewed bool) {
	for _, p := range n.pools() {
		renewed = p.renew(since, false) || renewed
	}
	return renewed
}

// Replace replaces all connections as [Node.Renew] does, whenever the last renewal was. Call it only
// if the address certainly leads to another server now. A server that was refused is dialled again
// now.
func (n *Node) Replace() {
	for _, p := range n.pools() {
		p.renew(time.Time{}, true)
	}
}

// Retire makes the node refuse batches with ErrRetired, also those that wait,
// and closes each connection when nothing is in flight on it, or when it is
// returned. A retired node still needs Close, which closes dedicated ones, too.
func (n *Node) Retire() {
	for _, p := range n.endFor(cause.ErrRetired) {
		p.retire()
	}
}

// Close closes all connections, also dedicated ones. Batches in flight or
// waiting end with an error that wraps ErrClosed, or ErrRetired. It waits until no
// goroutine of the node is left. Closing again does nothing.
func (n *Node) Close() error {
	var ending sync.WaitGroup
	for _, p := range n.endFor(errClosed) {
		ending.Go(p.end)
	}
	ending.Wait()
	return nil
}

// Info returns what traces know the node by; nil without a trace.
func (n *Node) Info() *redislanes.PoolInfo { return n.main.Traced }

// Stats returns a snapshot. It is safe and cheap to call while the node works.
func (n *Node) Stats() redislanes.PoolStats {
	s := n.main.stats()
	for _, p := range n.pools()[1:] {
		addStats(&s, p.stats())
	}
	return s
}

// addStats adds those of the dedicated connections to those of the main pool.
func addStats(s *redislanes.PoolStats, l redislanes.PoolStats) {
	s.Open += l.Open
	s.InUse += l.InUse
	s.Waiters += l.Waiters
	s.WaitCount += l.WaitCount
	s.WaitTime += l.WaitTime
	s.Exhausted += l.Exhausted
	s.Dials += l.Dials
	s.DialErrors += l.DialErrors
	for reason, n := range l.Closes {
		s.Closes[reason] += n
	}
	for code, n := range l.ErrorReplies {
		s.ErrorReplies[code] += n
	}
}

// Format describes the node for every verb, as the pool that a user knows: fmt would read fields that are
// changing.
func (n *Node) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "pool.Pool{%s, %s}", n.main.Kind, n.addr)
}
