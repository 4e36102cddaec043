package nodepool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
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

	exhausted    atomic.Uint64 // how many were refused for want of room
	errorReplies wire.ErrorCount

	nextLook *time.Timer   // for maintain
	looked   atomic.Int64  // when a reply last made the pool look, see wire.Now
	attended atomic.Bool   // the next look is soon, as batches may be in flight
	outage   atomic.Uint32 // health.State that was settled last; changed under mu
	reply    atomic.Int64  // the best reply time of a connection at the last look, in nanoseconds; 0: unknown
	passed   atomic.Bool   // a caller has looked at that reply time and it was late

	// mu guards what follows; never held across I/O. It is taken before the
	// locks of a lane.
	mu         monitor
	members    members
	queue      queue
	dials      dials
	health     health.Server // what connections and dials have shown of the server
	size       control       // how many connections are wanted
	generation uint64        // how often all connections were replaced
	renewed    time.Time     // the last time
	downs      uint64
	closes     map[string]uint64 // connections, by the reason
	ended      error             // why the pool takes nothing any more; nil: it does
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

	// trimLocked makes so many connections leave that are not wanted any more.
	trimLocked(surplus int)
}

func newPool(s settings, to *server) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{settings: s, server: to, ctx: ctx, cancel: cancel}
	p.dials.pool, p.queue.tell = p, p.tellWaitedLocked
	p.size = s.control()
	p.health = health.New(health.Limits{SuspectAfter: s.SuspectAfter, StallTimeout: s.StallTimeout})
	p.nextLook = time.NewTimer(health.LookEvery)
	p.looked.Store(int64(wire.Now()))
	p.closes = make(map[string]uint64)
	if s.shared() {
		p.access = newSharedAccess(p)
	} else {
		p.access = &exclusiveAccess{Pool: p}
	}
	p.mu.Lock()
	p.dials.growLocked()
	p.mu.Unlock()
	p.tasks.Go(p.maintain)
	return p
}

// abandon gives up waiting for a batch that was submitted.
func (p *Pool) abandon(b *wire.Batch, cause error) {
	p.mu.Lock()
	if w := p.queue.of(b); w != nil {
		cause = p.waitErrorLocked(w, cause)
		p.queue.remove(w)
		b.Refuse(p.addr, cause)
	}
	p.mu.Unlock()
	b.Abandon(cause)
}

var (
	errRenewed = errors.New("connection replaced: its address may lead to another server now")
	errAged    = errors.New("connection replaced: it has reached MaxAge")
)

// renew is [Node.Renew] for one pool, or, if it is certain, [Node.Replace].
func (p *Pool) renew(since time.Time, certain bool) (renewed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case certain:
	case !since.IsZero() && !p.renewed.Before(since):
		return true
	case time.Since(p.renewed) < renewPause || len(p.members) == 0 && p.dials.underWay == 0:
		return false
	}
	p.drainLocked(errRenewed)
	p.generation++
	p.renewed = time.Now()
	if certain && errors.Is(p.health.Failure().Err, redislanes.ErrWrongServer) {
		p.dials.nowLocked()
	}
	return true
}

// retire is [Node.Retire] for one pool.
func (p *Pool) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.health.State() != health.Up { // no other line ends the one that said so
		p.noteLocked(guard.ServerNotUsed, time.Since(p.health.Since()))
	}
	p.ended = cause.ErrRetired
	p.queue.fail(p.addr, p.ended)
	p.drainLocked(p.ended)
}

// drainLocked makes all connections leave, each when nothing is in flight on it or
// when its user has returned it.
func (p *Pool) drainLocked(why error) {
	for _, m := range p.members {
		switch m.state {
		case leaving:
		case dedicated:
			m.leaveWhy = why
		default:
			p.leaveLocked(m, why, false)
		}
	}
}

// rotateLocked has connections leave that have reached their age, each when nothing is in flight
// on it or its user has returned it. One leaves at a time, and the next one when it has been
// replaced, so the pool keeps its size. While no connection can be had, the old ones stay.
func (p *Pool) rotateLocked(now time.Time) {
	if p.MaxAge == 0 || p.health.Against() {
		return
	}
	complete := p.size.open >= p.size.target
	for _, m := range p.members {
		switch {
		case m.state == leaving || m.leaveWhy != nil || now.Before(m.until):
		case m.state == dedicated:
			m.leaveWhy = errAged
		case complete:
			p.leaveLocked(m, errAged, false)
			complete = false
		}
	}
}

// end closes all connections, fails what waits, and waits until no goroutine of the pool is
// left.
func (p *Pool) end() {
	p.mu.Lock()
	p.cancel()
	if p.dials.redial != nil {
		p.dials.redial.Stop()
		p.dials.redial = nil
	}
	if p.ended == nil {
		p.ended = errClosed
	}
	p.queue.fail(p.addr, p.ended)
	members := slices.Clone(p.members)
	for _, m := range members {
		p.leaveLocked(m, p.ended, true)
	}
	p.mu.Unlock()
	for _, m := range members {
		_ = m.lane.Close() // which waits until it has ended, as all others do meanwhile
	}
	p.tasks.Wait()
}

// closed reports whether end was called.
func (p *Pool) closed() bool { return p.ctx.Err() != nil }

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

// stats returns a snapshot.
func (p *Pool) stats() redislanes.PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := redislanes.PoolStats{
		Addr: p.addr, Kind: p.Kind, Size: p.Max, Open: len(p.members), Capacity: p.Max * p.MaxInFlight,
		Waiters: p.queue.len(), WaitCount: p.queue.waits, WaitTime: p.queue.waited, Exhausted: p.exhausted.Load(),
		Down: p.health.State() != health.Up, Downs: p.downs,
		Dials: p.dials.begun - uint64(p.dials.underWay), DialErrors: p.dials.failed,
		Closes: maps.Clone(p.closes), ErrorReplies: p.errorReplies.ByCode(),
	}
	for _, m := range p.members {
		n := m.lane.InFlight()
		if m.state == busy || m.state == dedicated || m.state != isIdle && n > 0 {
			s.InUse++
		}
		switch {
		case m.slow:
			s.SlowLaneInFlight = append(s.SlowLaneInFlight, n)
		case p.shared():
			s.LaneInFlight = append(s.LaneInFlight, n)
		}
	}
	return s
}
