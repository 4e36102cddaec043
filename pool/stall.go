package pool

import (
	"context"
	"time"
)

// A connection with batches in flight on which no byte arrives may mean a dead
// server, a broken connection, or a server that lives and makes writers wait:
// during a graceful failover Redis Cluster does so for up to five seconds
// (CLUSTER_MF_TIMEOUT in its source), and still answers everything else. To
// close connections then would turn commands that are about to run into ones
// with an unknown outcome. So the pool asks the server over another connection
// before it judges.

// observeLocked notes which connections have received bytes since the last
// look, and returns the longest time that one has waited for some.
func (p *Pool) observeLocked(now time.Time) (longest time.Duration) {
	for _, m := range p.members {
		inFlight := m.state != lent && m.lane.InFlight() > 0
		if progress := m.lane.Progress(); progress != m.progress {
			m.progress, m.since, p.heard = progress, now, now
		}
		if !inFlight {
			m.waits = time.Time{}
			continue
		}
		if m.waits.Before(m.since) {
			m.waits = now
		}
		longest = max(longest, now.Sub(m.waits))
	}
	return longest
}

// stalledLocked tells whether the connection is to be closed: because the whole
// server has been silent for the stall timeout, or because it has been silent
// on this connection for much longer.
func (p *Pool) stalledLocked(m *member, now time.Time, longest time.Duration) bool {
	switch {
	case m.state == lent:
		return false
	case longest >= p.StallTimeout && now.Sub(p.heard) >= p.StallTimeout:
		return true // also those that are idle: the next callers need not find that out
	}
	return !m.waits.IsZero() && now.Sub(m.waits) >= p.PauseTimeout
}

// probeLocked asks the server whether it lives if a connection has waited for
// half of the stall timeout and nothing was heard for as long.
func (p *Pool) probeLocked(now time.Time, longest time.Duration) {
	if p.probing || p.closed || longest < p.StallTimeout/2 || now.Sub(p.heard) < p.StallTimeout/2 {
		return
	}
	p.probing = true
	p.tasks.Go(p.probe)
}

// probe makes a connection, whose handshake the server has to answer, and closes
// it.
func (p *Pool) probe() {
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	defer cancel()
	lane, err := p.dialer.Dial(ctx, p.addr)
	if err == nil {
		_ = lane.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probing = false
	if err == nil || refusedHandshake(err) {
		p.heard = time.Now()
	}
}
