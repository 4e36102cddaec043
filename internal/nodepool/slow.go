package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// Batches that are marked as slow travel on lanes of their own, so that nobody
// else's commands queue behind them. Those lanes are a pool inside the pool, as
// the connections are that it lends: with a queue, a watchdog and a breaker of
// its own. It is made when the first slow batch comes.

const kindSlow = "slow"

// HasSlowLanes reports whether pools with these settings have lanes for batches
// that are marked as slow. Others ignore the mark.
func HasSlowLanes(c Config) bool {
	s, err := c.settings()
	return err == nil && s.slowLanes > 0
}

// slowSettings are those of the lanes for slow commands. FirstFit would put them
// one behind the other.
func (s settings) slowSettings() settings {
	return settings{
		Options: s.Options, kind: kindSlow, min: s.slowLanes, max: s.slowLanes,
		shared: true, strategy: lanes.LeastUsed, maxInFlight: s.maxInFlight, maxQueued: s.maxQueued,
	}
}

func (p *Pool) submitSlow(b *wire.Batch) (mine bool) {
	slow, err := p.slowPool()
	if err != nil {
		b.Fail(p.addr, err)
		return false
	}
	return slow.Submit(b)
}

func (p *Pool) slowPool() (*Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.endedLocked(); err != nil {
		return nil, err
	}
	if err := p.downErrorLocked(); err != nil {
		return nil, err
	}
	if p.slow == nil {
		p.slow = newPool(p.slowSettings(), p.dialer, p.purpose, p.addr, p.log)
	}
	return p.slow, nil
}

// partsLocked returns the pools inside a shared pool that exist.
func (p *Pool) partsLocked() (parts []*Pool) {
	for _, part := range [...]*Pool{p.lenders, p.slow} {
		if part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}
