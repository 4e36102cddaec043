package lease

import "time"

// A Lease is hits on a key that Redis has counted, in one window, and nobody has used yet. It also notes how often the
// key is hit. The zero Lease is ready to use. It is not safe for concurrent use.
type Lease struct {
	rate
	left  int64 // hits to hand out
	line  line  // the same hits, if they are tokens of a bucket
	asked asked
	pause time.Duration // no refill before this moment
}

// asked says whether a refill is under way.
type asked uint8

const (
	no    asked = iota
	late        // yes, asked for when nothing was left
	early       // yes, asked for while there were hits left
	dry         // the same, but they did not last until it came
)

const (
	// fewest is how many calls in a slow tick are enough for a lease. Fewer would cost Redis as
	// much with a lease as without one.
	fewest = 6

	// Share bounds a lease: it has at most one hit in Share of those that remain. The last hits of a window are handed out
	// one by one.
	Share = 16

	tiny  = 1024 // one hit in so many of those that remain does not matter
	least = 4    // hits in a lease

	// Smallest is the smallest limit that has leases.
	Smallest = Share * least

	// A lease lasts for one part in young of the time for which the process has run, at most.
	young = 2

	rest = 5 * Tick // without a refill after one that failed
)

// Take takes the hits of a call into taken, all or none. If the call is denied, [Lease.Give] puts them back.
func (l *Lease) Take(cost int64, taken *Stretch) (ok bool) {
	if ok = cost <= l.left; ok {
		l.left -= cost
		l.line.take(cost, taken)
	} else if l.asked == early {
		l.asked = dry
	}
	return ok
}

// Give puts hits back that were taken.
func (l *Lease) Give(s Stretch) {
	l.left += s.N
	l.line.give(s)
}

// An Offer is what a refill may take: how many hits are free, as far as is known, for how long the hits
// of a refill may be used, and the time in nanoseconds in which a token flows into a bucket, 0 for a window.
type Offer struct {
	Free  int64
	Lasts time.Duration
	Per   float64
}

// Ask notes a call, and returns how many hits to ask Redis for. If they are not 0, call [Lease.Filled] or
// [Lease.Failed] when Redis has answered, or [Lease.Next] if the window ends before. wait reports whether the question
// may wait: what is left lasts for two Ticks. at is how long the process has run. A call that costs more than the
// lease should have asks for nothing, since the next such call could not use the hits.
func (l *Lease) Ask(cost int64, at time.Duration, o Offer) (n int64, wait bool) {
	l.note(cost, at)
	if l.asked != no || at < l.pause || l.busiest < fewest {
		return 0, false
	}
	if float64(l.left) > l.spends(o)/4+1 { // a lease wants no more than spends: this saves computing it
		return 0, false
	}
	want := l.want(o)
	if cost > want || l.left >= (want+3)/4 {
		return 0, false
	}
	if l.asked = late; l.left > 0 {
		l.asked = early
	}
	return want - l.left, float64(l.takes())*float64(l.left) >= 2*float64(Tick)*l.spends(o)
}

// want returns how many hits the lease should have: those of a tick, but only a small share of what remains. Hits that
// nobody has used when their window ends, or the process, are lost. So a lease lasts for these times at most, or for a
// Tick if that is longer:
//
//   - an eighth of the time until the window ends, unless it is a tiny share of what is free;
//   - half of the time for which the process has run.
//
// Tokens of a bucket flow away while the lease has them. So a lease of a bucket has as many more.
func (l *Lease) want(o Offer) int64 {
	hits, all, tick, free := l.needs(), l.spends(o), float64(l.takes()), float64(o.Free)
	fits, lasts := min(all, (free+float64(l.left))/Share), o.Lasts
	if fits > free/tiny {
		lasts = max(lasts/8, min(Tick, lasts))
	}
	lasts = min(lasts, max(Tick, l.last/young))
	n := min(fits, all*float64(lasts)/tick)
	if n*hits < least*all {
		return 0
	}
	return int64(n)
}

// spends returns how many hits go in the time of takes: those that calls need, and the tokens that flow away.
func (l *Lease) spends(o Offer) float64 {
	if o.Per == 0 {
		return l.needs()
	}
	return l.needs() + float64(l.takes())/o.Per
}

// Filled adds the hits of a refill.
func (l *Lease) Filled(s Stretch) {
	l.left += s.N
	l.line.add(s)
	if l.asked == dry {
		l.busiest = min(2*l.busiest, most)
	}
	l.asked = no
}

// Failed ends a refill that has brought nothing. The next one is asked for after a while.
func (l *Lease) Failed() {
	l.asked, l.pause = no, l.last+max(rest, l.length()/8)
}

// Asked reports whether a refill is asked for.
func (l *Lease) Asked() bool { return l.asked != no }

// Left returns how many hits the lease has.
func (l *Lease) Left() int64 { return l.left }

// Expire takes off the tokens whose time has begun.
func (l *Lease) Expire(at time.Duration) { l.left -= l.line.expire(at) }

// Next begins the next window: the hits of this one are of no use any more.
func (l *Lease) Next() { l.left, l.line, l.asked = 0, nil, no }

// Idle takes hits off that nobody needs, to give them back to Redis: all at the end, if none was used for a tick, or
// for two of the shortest; else those beyond what two ticks need. again is when to look again; 0: the lease is over.
func (l *Lease) Idle(at time.Duration, end bool) (surplus []Stretch, again time.Duration) {
	keeps, unused, n := max(2*Tick, l.length()), at-l.last, l.left
	switch {
	case unused < keeps && !end:
		n, again = max(0, n-2*(int64(l.needs())+l.line.flow(l.length()))), keeps-unused
	case n > 0:
		again = SlowTick // calls that are under way may give hits back
	}
	l.left -= n
	return l.line.drop(n), again
}
