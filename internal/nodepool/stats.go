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
	dials, dialErrors uint64
	downs, suspects   uint64
	silences          uint64
	closes            map[string]uint64
}

// ErrorCodes is that of package pool.
func ErrorCodes() []string { return wire.ErrorCodes() }

// stats returns a snapshot of one pool.
func (p *Pool) stats() redislanes.PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := redislanes.PoolStats{
		Addr: p.addr, Kind: p.Kind, Size: p.Max, Dialing: p.dialing,
		Capacity: p.Max * p.MaxInFlight, Waiters: p.queue.len(), WaitCount: p.counters.waits, WaitTime: p.counters.waited,
		Exhausted: p.exhausted.Load(), Dials: p.counters.dials, DialErrors: p.counters.dialErrors,
		Down: p.health.State() == health.Down, Downs: p.counters.downs,
		Suspect: p.health.State() == health.Suspect, Suspects: p.counters.suspects, Silences: p.counters.silences,
		Closes: maps.Clone(p.counters.closes), ErrorReplies: p.errorReplies.ByCode(),
		BytesSent: p.traffic.Sent(), BytesReceived: p.traffic.Received(),
		Target: p.size.target - (p.size.max - p.Max), Grows: p.size.grows, Shrinks: p.size.shrinks, LastResize: p.size.last,
	}
	for _, m := range p.members {
		n := m.inFlight()
		if m.slow {
			s.Extra++
			s.SlowInFlight += n
			s.SlowLaneInFlight = append(s.SlowLaneInFlight, n)
			continue
		}
		s.Open++
		s.InFlight += n
		if p.shared() {
			s.LaneInFlight = append(s.LaneInFlight, n)
		}
		switch {
		case m.state == dedicated:
			s.Dedicated++
			s.InUse++
		case m.state == busy, n > 0:
			s.InUse++
		}
	}
	s.Idle = s.Open - s.InUse
	return s
}

// addStats adds those of the dedicated connections to those of the main pool.
func addStats(s *redislanes.PoolStats, l redislanes.PoolStats) {
	s.Dedicated += l.Dedicated
	s.Extra += l.Open
	s.Dialing += l.Dialing
	s.Waiters += l.Waiters
	s.WaitCount += l.WaitCount
	s.WaitTime += l.WaitTime
	s.Exhausted += l.Exhausted
	s.Silences += l.Silences
	s.Dials += l.Dials
	s.DialErrors += l.DialErrors
	s.BytesSent += l.BytesSent
	s.BytesReceived += l.BytesReceived
	for reason, n := range l.Closes {
		s.Closes[reason] += n
	}
	for code, n := range l.ErrorReplies {
		s.ErrorReplies[code] += n
	}
}
