package lease

import "time"

// A Lease is hits on one key of one window that Redis has counted and nobody has used. It is
// not safe for concurrent use.
type Lease struct {
	left   int64 // hits to hand out
	free   int64 // hits that Redis could still grant, as it said last
	asking bool  // a grant is under way
	barren bool  // the last grant was less than was asked for
	dry    bool  // it had too few while a grant was under way

	tick int64 // of the last hit
	hits int64 // in it
	size int64 // how many hits it should have; doubled when it was dry, halved while they are not used
}

const (
	// share is which part of what remains a lease may take: the last hits of a window are
	// handed out one by one.
	share = 16

	// most is how many hits a lease has at most.
	most = 1 << 30

	// keep is how many ticks a lease keeps hits that nobody uses.
	keep = 2

	// forget is after how many ticks a lease that nobody uses is over.
	forget = 50
)

// Take takes hits from the lease, at most as many as it has. It reports whether it is time to
// ask for more: then the caller must ask for [Lease.Wants], and call [Lease.Grant] or
// [Lease.Fail].
func (l *Lease) Take(cost int64, at time.Duration) (taken int64, ask bool) {
	l.note(cost, int64(at/Tick))
	taken = min(cost, l.left)
	l.left -= taken
	l.dry = l.dry || taken < cost
	if ask = !l.asking && !l.barren && l.Wants() > l.want()/2; ask {
		l.asking = true
	}
	return taken, ask
}

// note adds hits to those of the tick.
func (l *Lease) note(cost, tick int64) {
	for ; l.tick < tick && l.size > 0; l.tick++ {
		if l.hits < l.size/2 {
			l.size /= 2
		}
		l.size, l.hits = max(l.size, l.hits), 0
	}
	l.tick = max(l.tick, tick)
	l.hits += cost
	l.size = max(l.size, l.hits)
}

// want returns how many hits the lease should have: those of a tick, and a small share of what
// remains.
func (l *Lease) want() int64 { return min(l.size, (l.free+l.left)/share) }

// Wants returns how many hits to ask for, besides the cost of a hit that waits for them; 0:
// none.
func (l *Lease) Wants() int64 { return max(0, l.want()-l.left) }

// Grant adds hits that Redis has granted: asked for, got, and how many it could still grant.
func (l *Lease) Grant(asked, got, free int64) {
	l.left, l.free, l.asking = l.left+got, free, false
	if l.barren = got < asked; l.dry && !l.barren {
		l.size = min(2*l.size, most)
	}
	l.dry = false
}

// Fail says that a grant has failed.
func (l *Lease) Fail() { l.asking = false }

// Give puts hits back that were taken, for a call that was denied.
func (l *Lease) Give(cost int64) { l.left += cost }

// Free returns how many hits are free, as far as is known: those of the lease, and those that
// Redis could still grant.
func (l *Lease) Free() int64 { return max(0, l.free) + l.left }

// Next returns the lease for the next window, of which all hits of the limit are free.
func (l *Lease) Next(limit int64) Lease {
	return Lease{free: limit, tick: l.tick, hits: l.hits, size: l.size}
}

// Left returns how many hits the lease has.
func (l *Lease) Left() int64 { return l.left }

// Idle returns how many hits are to be returned to Redis, and takes them from the lease: all
// that nobody has used for a while, and what is far more than a tick needs. over says that
// the lease has not been used for long.
func (l *Lease) Idle(at time.Duration) (surplus int64, over bool) {
	ago := int64(at/Tick) - l.tick
	if ago > keep {
		surplus = l.left
	} else {
		surplus = max(0, l.left-keep*l.size)
	}
	l.left -= surplus
	if surplus > 0 {
		l.free += surplus
		l.barren = false
	}
	return surplus, ago > forget
}
