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

	// The first quickRefreshes of a trouble may follow each other faster, for most
	// of the grace within which calls wait for a new owner (DownGrace): most
	// changes are over in a moment. A trouble is over when nothing was fetched
	// for calmTime.
	quickRefreshes = 10
	quickSpacing   = 50 * time.Millisecond
	quickJitter    = 50 * time.Millisecond
	calmTime       = 5 * time.Second
)

// A pacer says how soon a refresh may follow the last one.
type pacer struct {
	quick int // of this trouble, so far
	last  time.Time
}

// after notes a refresh that has ended now and returns the least time until the
// next one that hints may ask for.
func (p *pacer) after(now time.Time) time.Duration {
	if now.Sub(p.last) >= calmTime {
		p.quick = 0
	}
	p.last = now
	if p.quick < quickRefreshes {
		p.quick++
		return quickSpacing + rand.N(quickJitter)
	}
	return refreshSpacing + rand.N(refreshJitter)
}
