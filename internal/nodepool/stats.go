package nodepool

import (
	"maps"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

type counters struct {
	waits             uint64
	waited            time.Duration
	dials, dialErrors uint64 // that began; that failed
	downs             uint64
	closes            map[string]uint64
}

// ErrorCodes is that of package pool.
func ErrorCodes() []string { return wire.ErrorCodes() }

// stats returns a snapshot of one pool.
func (p *Pool) stats() redislanes.PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := redislanes.PoolStats{
		Addr: p.addr, Kind: p.Kind, Size: p.Max, Open: len(p.members), Capacity: p.Max * p.MaxInFlight,
		Waiters: p.queue.len(), WaitCount: p.counters.waits, WaitTime: p.counters.waited, Exhausted: p.exhausted.Load(),
		Down: p.health.State() != health.Up, Downs: p.counters.downs,
		Dials: p.counters.dials - uint64(p.dialing), DialErrors: p.counters.dialErrors,
		Closes: maps.Clone(p.counters.closes), ErrorReplies: p.errorReplies.ByCode(),
	}
	for _, m := range p.members {
		n := m.inFlight()
		if n > 0 || m.state == busy || m.state == dedicated {
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
