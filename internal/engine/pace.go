package engine

import (
	"math/rand/v2"
	"time"
)

const (
	// refreshSpacing is the least time between two refreshes that hints of
	// requests ask for, so that a failover does not end in a storm of them.
	refreshSpacing = 500 * time.Millisecond
	refreshJitter  = 100 * time.Millisecond

	// Some refreshes may follow each other faster, for most of the grace within which
	// calls wait for a new owner (DownGrace): most changes are over in a moment. Up to
	// quickRefreshes are saved, one every quickEvery.
	quickRefreshes = 10
	quickSpacing   = 50 * time.Millisecond
	quickJitter    = 50 * time.Millisecond
	quickEvery     = time.Second
)

// A pacer says how soon a refresh may follow the last one: a token bucket, from which
// each refresh takes one. When a trouble was counted as over once nothing was fetched
// for a while, regular refreshes every five seconds kept it going, and a failover was
// noticed late.
type pacer struct {
	quick float64 // how many may be quick now
	last  time.Time
}

// after notes a refresh that has ended now and returns the least time until the
// next one that hints may ask for.
func (p *pacer) after(now time.Time) time.Duration {
	p.quick = min(p.quick+now.Sub(p.last).Seconds()/quickEvery.Seconds(), quickRefreshes)
	p.last = now
	if p.quick >= 1 {
		p.quick--
		return quickSpacing + rand.N(quickJitter)
	}
	p.quick = 0
	return refreshSpacing + rand.N(refreshJitter)
}
