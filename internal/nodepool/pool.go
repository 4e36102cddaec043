package nodepool

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// A Pool is the connections to one server. Make it with [New]. All methods are
// safe for concurrent use.
type Pool struct {
	settings
	addr    string
	dialer  lanes.Dialer
	purpose wire.Purpose
	log     *slog.Logger

	ctx    context.Context // ends when the pool is closed
	cancel context.CancelFunc
	tasks  sync.WaitGroup // dials and the maintenance

	// Read without mu by shared pools.
	set     atomic.Pointer[wire.Lanes]
	turn    atomic.Uint32
	waiting atomic.Int32 // length of queue

	flying    wire.Load     // of the lanes of a shared pool with a range of sizes
	exhausted atomic.Uint64 // how many were refused for want of room

	nextLook *time.Timer // for maintain
	attended atomic.Bool // the next look is soon, as batches may be in flight

	// mu guards what follows; never held across I/O. It is taken before the
	// locks of a lane.
	mu          sync.Mutex
	members     []*member
	idle        []*member               // stack: the one used last is lent first
	queue       list.List               // of *waiter
	waiters     map[*wire.Batch]*waiter // those in the queue
	lenders     *Pool                   // lends connections of a shared pool
	slow        *Pool                   // the lanes of a shared pool for slow commands
	dialing     int
	failures    int // dials that failed, or stalls, in a row
	lastErr     error
	early       int       // connections in a row that were of use and died young
	lastEarly   time.Time // when the last of them did
	down        time.Time // since when the server is down; zero: it is up, as far as is known
	watch       watch
	silentSince time.Time     // of a suspect; else zero
	dialSilent  time.Duration // for how long callers have waited for an unanswered dial
	question    func()        // withdraws the one that is out; nil: none is
	announced   bool          // the log was told of a suspicion
	looked      time.Time     // when the maintenance last looked
	planned     time.Duration // how long after that it is to look again
	active      bool          // it saw that bytes had arrived
	size        controller    // how many connections are wanted
	journal     journal
	retired     bool
	renewals    renewals
	ended       []time.Duration // waits that OnWait has not been told of
	flushes     []*wire.Lane    // whose writer is who unlocks
	exits       []exit          // connections that unlock is to close
	redial      *time.Timer     // set while the pool waits to dial again
	closed      bool
	counters    counters
}

// state says what a connection is doing.
type state uint8

const (
	dialling state = iota
	isIdle
	busy    // one batch is in flight
	lent    // one user has it
	shared  // for everybody
	leaving // nobody is given it any more; it closes, perhaps once nothing is in flight
	gone
)

// A member is a connection and its place in the pool.
type member struct {
	pool *Pool
	lane *wire.Lane
	born time.Time

	avoided atomic.Bool // the strategies do not see it, if they see others; set under pool.mu

	// Guarded by pool.mu.
	state    state
	place    int           // in the members, unless the pool is shared
	progress uint64        // of the lane, when it was last looked at
	since    time.Time     // when bytes were last seen to arrive
	waits    bool          // something was in flight when it was last looked at
	silent   time.Duration // for how long something has been in flight and no byte has arrived
	spent    error         // why it is to leave when its user returns it
	cause    error         // why it was closed before it was a member
}

// New returns a pool for the server at addr, host:port, with the defaults for a
// server that stands alone (see [InCluster]). It starts to connect in the
// background; a server that cannot be reached is no error here, but one of the
// batches sent to it. The logger may be nil.
func New(c Config, d lanes.Dialer, addr string, log *slog.Logger) (*Pool, error) {
	return NewFor(c, d, wire.Purpose{}, addr, log)
}

// NewFor is New for connections with a purpose.
func NewFor(c Config, d lanes.Dialer, purpose wire.Purpose, addr string, log *slog.Logger) (*Pool, error) {
	if err := Validate(c); err != nil {
		return nil, err
	}
	s, _ := c.settings()
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if err := wire.CheckAddr(addr); err != nil {
		return nil, fmt.Errorf("pool: the address cannot be used: %w", err)
	}
	return newPool(s, d, purpose, addr, log), nil
}

func newPool(s settings, d lanes.Dialer, purpose wire.Purpose, addr string, log *slog.Logger) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{settings: s, addr: addr, dialer: wire.Sealed(d), purpose: purpose, log: guard.Logger(log), ctx: ctx, cancel: cancel,
		waiters: make(map[*wire.Batch]*waiter)}
	p.size = s.controller()
	p.watch.stallTimeout = s.StallTimeout
	p.looked, p.planned, p.nextLook = time.Now(), s.choresEvery(), time.NewTimer(s.choresEvery())
	p.counters.closes = make(map[string]uint64)
	p.set.Store(wire.NewLanes(nil, &p.turn))
	p.mu.Lock()
	p.growLocked()
	p.mu.Unlock()
	p.tasks.Go(p.maintain)
	return p
}

// Address returns the server's address, host:port.
func (p *Pool) Address() string { return p.addr }

// Submit sends the batch over a connection, or queues it until one is free, or
// fails it; it does not block. See wire.Submitter for mine.
func (p *Pool) Submit(b *wire.Batch) (mine bool) {
	switch {
	case b.Slow() && p.slowLanes > 0:
		return p.submitSlow(b)
	case p.shared:
		return p.submitShared(b)
	}
	p.mu.Lock()
	for len(p.idle) > 0 && p.downErrorLocked() == nil {
		m := p.popIdleLocked()
		if m.lane.Enqueue(b, besidePing) {
			m.becomeLocked(busy)
			p.unlock()
			p.attend()
			return true
		}
		p.leaveLocked(m, wire.ErrClosed, true) // it is closed, and its event on the way
	}
	err := p.waitLocked(&waiter{batch: b})
	p.unlock()
	if err != nil {
		b.Fail(p.addr, err)
	}
	return false
}

func (p *Pool) submitShared(b *wire.Batch) (mine bool) {
	switch waiting := p.waiting.Load(); {
	case int(waiting) >= p.MaxWaiters: // without mu: under overload this is the usual case
		b.Fail(p.addr, p.tooManyWait())
		return false
	case waiting == 0:
		set := p.set.Load()
		i, err := p.choose(set.Set, b.Key())
		if err != nil {
			b.Fail(p.addr, err)
			return false
		}
		for left := set.Len(); left > 0; left-- {
			if set.Lane(i).Enqueue(b, p.maxInFlight) {
				p.attend()
				return true
			}
			if i++; i == set.Len() {
				i = 0
			}
		}
	}
	p.mu.Lock()
	err := p.waitLocked(&waiter{batch: b})
	p.mu.Unlock()
	if err != nil {
		b.Fail(p.addr, err)
		return false
	}
	p.dispatch() // room may have become free before b was in the queue
	return false
}

// choose asks the strategy, without the lock; an index out of range counts as the
// nearest turn. A strategy that panics costs the batch that it was asked about.
func (p *Pool) choose(set *lanes.Set, key int64) (i int, err error) {
	n := set.Len()
	if n == 0 {
		return 0, nil
	}
	i, err = p.askStrategy(set, key)
	switch {
	case err != nil:
		guard.Log(p.log, err)
	case i < 0 || i >= n:
		i = int(uint(i) % uint(n))
	}
	return i, err
}

func (p *Pool) askStrategy(set *lanes.Set, key int64) (i int, err error) {
	defer guard.Catch("Laned.Strategy", &err)
	return p.strategy(set, key), nil
}

// Abandon gives up waiting for a batch that was submitted.
func (p *Pool) Abandon(b *wire.Batch, cause error) {
	p.mu.Lock()
	if w, ok := p.waiters[b]; ok {
		cause = p.waitErrorLocked(w, cause)
		p.removeLocked(w.place)
		b.Refuse(p.addr, cause)
	}
	slow := p.slow
	p.unlock()
	if slow != nil && b.Slow() {
		slow.Abandon(b, cause)
		return
	}
	b.Abandon(cause)
}

// popIdleLocked takes the idle connection that was used last, and one whose PING
// has not been answered only if there is no other.
func (p *Pool) popIdleLocked() *member {
	i := len(p.idle) - 1
	for i > 0 && p.idle[i].lane.InFlight() > 0 {
		i--
	}
	if p.idle[i].lane.InFlight() > 0 {
		i = len(p.idle) - 1
	}
	m := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	return m
}

// Answered is part of wire.Events.
func (m *member) Answered(l *wire.Lane) {
	p := m.pool
	if p.shared {
		if m.avoided.Load() {
			m.trust()
		}
		if p.waiting.Load() > 0 {
			p.dispatch()
		}
		return
	}
	p.mu.Lock()
	if p.watch.stage == suspect {
		p.livesLocked(p.watch.heard())
	}
	if m.state == busy && l.InFlight() == 0 {
		p.freeLocked(m)
	}
	p.unlock()
}

// publishLocked makes the set of shared lanes what it is now: those that are open
// and not silent or, if all are silent, all, but none if the server is suspect.
func (p *Pool) publishLocked() {
	if !p.shared {
		return
	}
	open, healthy := make([]*wire.Lane, 0, len(p.members)), make([]*wire.Lane, 0, len(p.members))
	for _, m := range p.members {
		if m.state != shared {
			continue
		}
		open = append(open, m.lane)
		if !m.avoided.Load() {
			healthy = append(healthy, m.lane)
		}
	}
	switch {
	case p.watch.stage == suspect:
		open = nil
	case len(healthy) > 0:
		open = healthy
	}
	p.set.Store(wire.NewLanes(open, &p.turn))
}

// Close closes all connections, also those that are lent. Batches in flight or
// waiting end with an error that wraps ErrClosed, or ErrRetired. It waits until no
// goroutine of the pool is left, but no longer than three seconds: one in which a
// function of the user does not return (a log, a strategy, OnWait, NetDial) is left
// behind. Closing again does nothing.
func (p *Pool) Close() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.end()
	}()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	return nil
}

// closePatience is how long Close waits for users' functions. Connections that are
// not sockets may take a second of it to end.
const closePatience = 3 * time.Second

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
	p.idle = nil // none needs to be found in it
	for _, m := range members {
		p.leaveLocked(m, why, true)
	}
	parts := p.partsLocked()
	p.unlock()
	for _, m := range members {
		_ = m.lane.Close()
	}
	for _, part := range parts {
		_ = part.Close()
	}
	p.tasks.Wait()
}

// Quiet reports whether nothing is in flight, waiting or lent.
func (p *Pool) Quiet() bool {
	s := p.Stats()
	return s.InFlight == 0 && s.SlowInFlight == 0 && s.Waiters == 0 && s.Lent == 0
}
