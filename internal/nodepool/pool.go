package nodepool

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Pool is connections of a [Node] that are used in one way: shared by all batches, or by
// one batch or user at a time. It dials and replaces them, judges the server by them, and
// has one queue for what finds no connection.
type Pool struct {
	settings
	*server

	ctx    context.Context // ends when the pool is closed
	cancel context.CancelFunc
	tasks  sync.WaitGroup // dials and the maintenance

	access access // who may use the connections

	exhausted atomic.Uint64 // how many were refused for want of room

	errorReplies wire.ErrorCount

	nextLook *time.Timer   // for maintain
	looked   atomic.Int64  // when a reply last made the pool look, see wire.Now
	attended atomic.Bool   // the next look is soon, as batches may be in flight
	outage   atomic.Uint32 // health.State that was settled last; changed under mu
	reply    atomic.Int64  // the best reply time of a connection at the last look, in nanoseconds; 0: unknown
	passed   atomic.Bool   // a caller has looked at that reply time and it was late

	// mu guards what follows; never held across I/O. It is taken before the
	// locks of a lane.
	mu       monitor
	members  []*member
	queue    queue
	health   health.Server  // what connections and dials have shown of the server
	dialing  int            // dials under way
	redial   *time.Timer    // set while the pool waits to dial again
	question func()         // withdraws the question to the server over a new connection; nil: none is out
	failures guard.Throttle // of dials, for the log
	size     controller     // how many connections are wanted
	renewals renewals
	counters counters
	retired  bool
	closed   bool
}

// An access says who may use the connections of a pool, and brings batches to
// them: [exclusiveAccess] or [sharedAccess]. The Pool has what both need: it dials,
// watches, counts and closes connections, and has the queue of those that wait.
// Methods whose names end in Locked are called under Pool.mu.
type access interface {
	// submit sends the batch over a connection, or queues it until one is free,
	// or fails it; it does not block. See wire.Submitter for mine.
	submit(b *wire.Batch) (mine bool)

	// answered is told that a batch on the connection has its replies.
	answered(m *member)

	// offerLocked makes a connection that nobody uses available.
	offerLocked(m *member)

	// withdrawLocked makes it unavailable, when it is about to leave or has left.
	withdrawLocked(m *member)

	// changedLocked is called when the server has become suspect or is not so any
	// more, or when other connections are slow than before.
	changedLocked()

	// dispatch looks for connections for queued batches, where connections do not
	// look for them when they become free.
	dispatch()

	// trimLocked makes so many connections leave that are not wanted any more.
	trimLocked(surplus int)
}

// state says what a connection is doing.
type state uint8

const (
	dialling state = iota
	isIdle
	busy      // one batch is in flight
	dedicated // one user has it
	shared    // for everybody
	leaving   // nobody is given it any more; it closes, perhaps once nothing is in flight
	gone
)

// A member is a connection and its place in the pool.
type member struct {
	pool    *Pool
	lane    *wire.Lane
	slow    bool   // it is a lane for slow commands; set when it joins
	renewal uint64 // the last one before it was dialled
	born    time.Time
	until   time.Time // when it is to leave because of its age

	quietUntil atomic.Pointer[time.Time] // until when its user may be waiting for data; nil: it does not

	// Guarded by pool.mu.
	state       state
	health      health.Conn
	heard       time.Time   // when bytes were last seen to arrive: an idle connection gets a PING later
	leaveWhy    error       // why it is to leave when its user returns it
	closedEarly error       // why it was closed before it was a member
	ping        *wire.Batch // the last PING; nil: there was none
}

// inFlight returns how many batches are in flight on the connection, without a PING of the pool's.
// For a moment it may return too few. It is called under pool.mu.
func (m *member) inFlight() int {
	n := m.lane.InFlight()
	if m.ping != nil && !m.ping.Complete() {
		n--
	}
	return max(0, n)
}

func newPool(s settings, to *server) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{settings: s, server: to, ctx: ctx, cancel: cancel}
	p.size = s.controller()
	p.health = health.New(s.healthLimits())
	p.nextLook = time.NewTimer(health.LookEvery)
	p.looked.Store(int64(wire.Now()))
	p.counters.closes = make(map[string]uint64)
	if s.shared() {
		p.access = newSharedAccess(p)
	} else {
		p.access = &exclusiveAccess{Pool: p}
	}
	if p.Trace != nil && p.Trace.Waited != nil {
		p.mu.tell = func(wait time.Duration) {
			p.log.Call("Trace.Waited", func() { p.Trace.Waited(redislanes.WaitInfo{Pool: p.Traced, Took: wait}) })
		}
	}
	p.mu.Lock()
	p.growLocked()
	p.mu.Unlock()
	p.tasks.Go(p.maintain)
	return p
}

// abandon gives up waiting for a batch that was submitted.
func (p *Pool) abandon(b *wire.Batch, cause error) {
	p.mu.Lock()
	if w := p.queue.of(b); w != nil {
		cause = p.waitErrorLocked(w, cause)
		p.removeLocked(w)
		b.Refuse(p.addr, cause)
	}
	p.mu.Unlock()
	b.Abandon(cause)
}

// Answered is part of wire.Events.
func (m *member) Answered(*wire.Lane) {
	m.pool.access.answered(m)
	m.pool.replied()
}

// end closes all connections, fails what waits, and waits until no goroutine of the pool is
// left.
func (p *Pool) end() {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	if p.redial != nil {
		p.redial.Stop()
		p.redial = nil
	}
	why := p.endedLocked()
	p.failWaitersLocked(why)
	members := slices.Clone(p.members)
	for _, m := range members {
		p.leaveLocked(m, why, true)
	}
	p.mu.Unlock()
	for _, m := range members {
		_ = m.lane.Close() // which waits until it has ended, as all others do meanwhile
	}
	p.tasks.Wait()
}

// connected reports whether there is a connection.
func (p *Pool) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.members, func(m *member) bool { return m.state != leaving })
}

// quiet reports whether nothing is in flight or waiting and no user has a dedicated
// connection.
func (p *Pool) quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.len() == 0 && !slices.ContainsFunc(p.members, func(m *member) bool {
		return m.state == dedicated || m.lane.InFlight() > 0
	})
}
