package pool

import (
	"fmt"
	"io"
	"maps"
	"time"
)

type counters struct {
	waits             uint64
	waited            time.Duration
	dials, dialErrors uint64
	downs, suspects   uint64
	closes            map[string]uint64
}

// Stats is a snapshot of a pool. Counters count from the pool's beginning.
type Stats struct {
	Addr string // host:port
	Kind string // "fixed", "adaptive" or "laned"

	Size    int // connections that the pool may have; of a laned pool, without lent ones and slow lanes
	Target  int // of these, those that it wants now: Size unless it has a range
	Open    int // connections that it has, likewise
	InUse   int // of these, those with a batch in flight or lent
	Idle    int // of these, the others
	Dialing int
	Lent    int // connections lent to one user; of a laned pool, besides Open
	Extra   int // connections of a laned pool besides Open: those to be lent, lent or not, and lanes for slow commands

	Capacity     int   // batches that may be in flight at a time
	InFlight     int   // batches in flight
	LaneInFlight []int // the same for each open connection; nil unless the pool is laned

	// Batches in flight on the lanes for slow commands of a laned pool, besides
	// those above: in all, and on each open lane; nil until the first slow command.
	SlowInFlight     int
	SlowLaneInFlight []int

	Waiters   int           // batches and users that wait now
	WaitCount uint64        // that had to wait
	WaitTime  time.Duration // how long they waited, in all
	Exhausted uint64        // that failed with ErrExhausted

	Down  bool   // the server is down: batches fail with ErrDown at once
	Downs uint64 // how often that began

	// The server is suspect: it has been silent for an unusual time, and has not
	// answered over another connection. Batches fail with ErrDown at once, but the
	// connections stay open. Not set while it is down.
	Suspect  bool
	Suspects uint64 // how often that began

	// Dials that began, those of them that failed, and connections closed, by
	// reason. Each dial that succeeded is open or was closed, at any moment:
	// Dials - DialErrors - Dialing = Open + Extra + the sum of Closes.
	Dials      uint64
	DialErrors uint64
	Closes     map[string]uint64

	Grows, Shrinks uint64 // how often Target has changed
	LastResize     Resize // the last time; zero if it has not
}

// Saturation returns what share of the pool is in use, 0 to 1: connections in
// use by its size; for a laned pool, batches in flight by its capacity.
func (s Stats) Saturation() float64 {
	used, of := s.InUse, s.Size
	if s.Kind == "laned" {
		used, of = s.InFlight, s.Capacity
	}
	if of == 0 {
		return 0
	}
	return float64(used) / float64(of)
}

// String describes the pool.
func (p *Pool) String() string { return "pool.Pool{" + p.kind + ", " + p.addr + "}" }

// Format prints String for every verb: fmt would read fields that are changing.
func (p *Pool) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// Stats returns a snapshot. It is safe and cheap to call while the pool works.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	s := Stats{
		Addr: p.addr, Kind: p.kind, Size: p.max, Open: len(p.members), Dialing: p.dialing,
		Capacity: p.max, Waiters: p.queue.Len(), WaitCount: p.counters.waits, WaitTime: p.counters.waited,
		Exhausted: p.exhausted.Load(), Dials: p.counters.dials, DialErrors: p.counters.dialErrors,
		Down: !p.down.IsZero(), Downs: p.counters.downs,
		Suspect: p.watch.stage == suspect && p.down.IsZero(), Suspects: p.counters.suspects,
		Closes: maps.Clone(p.counters.closes),
		Target: p.size.target, Grows: p.size.grows, Shrinks: p.size.shrinks, LastResize: p.size.last,
	}
	for _, m := range p.members {
		n := m.lane.InFlight()
		s.InFlight += n
		switch {
		case m.state == lent:
			s.Lent++
			s.InUse++
		case m.state == busy, m.state != isIdle && n > 0: // a PING is no use
			s.InUse++
		}
		if p.shared {
			s.LaneInFlight = append(s.LaneInFlight, n)
		}
	}
	s.Idle = s.Open - s.InUse
	lenders, slow := p.lenders, p.slow
	p.mu.Unlock()
	if p.shared {
		s.Capacity = p.max * p.maxInFlight
	}
	if lenders != nil {
		s.addPart(lenders.Stats())
	}
	if slow != nil {
		part := slow.Stats()
		s.SlowInFlight, s.SlowLaneInFlight = part.InFlight, part.LaneInFlight
		s.addPart(part)
	}
	return s
}

// addPart adds what counts for the connections that a shared pool lends, and for
// its lanes for slow commands, as well.
func (s *Stats) addPart(l Stats) {
	s.Lent += l.Lent
	s.Extra += l.Open
	s.Dialing += l.Dialing
	s.Waiters += l.Waiters
	s.WaitCount += l.WaitCount
	s.WaitTime += l.WaitTime
	s.Exhausted += l.Exhausted
	s.Dials += l.Dials
	s.DialErrors += l.DialErrors
	for reason, n := range l.Closes {
		s.Closes[reason] += n
	}
}
