package lease

import "time"

// A Lease is hits on one key of one window that Redis has counted and nobody has used. It is
// not safe for concurrent use.
type Lease struct {
	left   int64 // hits to hand out
	asking bool  // a refill is wanted, or under way
	early  bool  // the refill was asked for while there were hits left
	dry    bool  // they did not last until it came

	level int           // a tick lasts for Tick << level
	since time.Duration // when the tick began
	hits  int64         // in it
	last  time.Duration // when the last of them came
	size  int64         // how many hits a tick needs
	pause time.Duration // no refill before this moment
}

const (
	// Tick is how long hits are added up, at least. A lease lasts for about a tick.
	Tick = 20 * time.Millisecond

	// SlowTick is how long they are added up at most. A refill costs about as much as some hits
	// that ask Redis, so a key that is hit rarely has longer ticks.
	SlowTick = Tick << slowest
	slowest  = 8
	few      = 32  // hits in a tick: the next one is longer
	enough   = 128 // hits in a tick: it is made shorter

	// Fewest is how many hits in a slow tick are enough for a lease. Fewer would cost Redis as
	// much with a lease as without one.
	Fewest = 6

	// Share is which part of what remains a refill may take, at most: the last hits of a
	// window are handed out one by one.
	Share = 16

	tiny = 1024 // of the hits that remain: one in so many does not matter

	least = 4       // hits in a refill
	most  = 1 << 30 // hits in a tick, for a lease

	// Smallest is the smallest limit that has leases.
	Smallest = Share * least

	rest = 5 * Tick // without a refill after one that failed

	// A lease is over once nobody has used it for unusedLong, or for a tick if that is longer.
	unusedLong = time.Second

	// mostStretches is how many stretches a line has at most.
	mostStretches = 8
)

// Begin sets what is known of a key that is to have a lease: its hits in a slow tick.
func (l *Lease) Begin(hits int64, at time.Duration) {
	l.level, l.size, l.since, l.last = slowest, hits, at, at
	for ; l.size >= enough && l.level > 0; l.level-- {
		l.size /= 2
	}
}

// An Offer is what a refill may take: how many hits are free, as far as is known, for how long the hits
// of a refill may be used, and the time in which a token flows into a bucket, 0 for a window.
type Offer struct {
	Free  int64
	Lasts time.Duration
	Per   float64
}

// Take takes a hit from the lease if that has enough; else it takes nothing. ask, if not 0, is
// how many hits the caller must ask for, soon: then it must call [Lease.Filled] or
// [Lease.Failed], unless the window or the lease ends before. A hit that costs more than the lease should have asks for nothing, since its
// refill would hold hits that the next such hit cannot use.
func (l *Lease) Take(cost int64, at time.Duration, o Offer) (ok bool, ask int64) {
	l.note(cost, at)
	if ok = cost <= l.left; ok {
		l.left -= cost
	} else if l.asking && l.early {
		l.dry = true
	}
	if l.asking || at < l.pause {
		return ok, 0
	}
	want, extra := l.want(o)
	if cost > want || l.left >= (want+extra+3)/4 {
		return ok, 0
	}
	l.asking, l.early = true, l.left > 0
	return ok, want - l.left + extra
}

// Again is Take for a hit that has asked Redis in vain.
func (l *Lease) Again(cost int64) (ok bool) {
	if ok = cost <= l.left; ok {
		l.left -= cost
	}
	return ok
}

func (l *Lease) length() time.Duration { return Tick << l.level }

// note adds a hit to those of the tick. The size follows the busiest tick, and is halved by
// each one that needs less than half of it. The length of ticks follows the size.
func (l *Lease) note(cost int64, at time.Duration) {
	if ended := (at - l.since) / l.length(); ended > 0 {
		l.since += ended * l.length()
		for ; ended > 0 && l.size > 0; ended-- {
			if l.hits < l.size/2 {
				l.size /= 2
			}
			l.hits = 0
		}
		if l.size < few && l.level < slowest {
			l.level, l.size = l.level+1, 2*l.size
		}
	}
	l.last, l.hits = at, min(l.hits+cost, most)
	l.size = max(l.size, l.hits)
	if l.hits >= enough && l.level > 0 {
		l.shorten(at)
	}
}

// shorten begins a tick of a length in which about as many hits come as there were in this one
// so far.
func (l *Lease) shorten(at time.Duration) {
	passed := max(1, at-l.since)
	l.level--
	for l.level > 0 && passed <= l.length()/2 {
		l.level--
	}
	l.size = int64(float64(l.hits) * min(1, float64(l.length())/float64(passed)))
	l.since, l.hits = at, 0
}

// want returns how many hits the lease should have: those of a tick, but only a small share of
// what remains. Hits that nobody has used when the window ends, or the process does, are lost. So the
// lease also has only the hits of an eighth of the time that they last, or of a Tick if that is longer.
// This bound does not hold for a tiny share of what is free: then little is lost. Tokens of a bucket flow
// away while the lease has them. So a lease of a bucket takes as many more (extra) as do in its time, and asks
// again when a quarter of all is left.
func (l *Lease) want(o Offer) (n, extra int64) {
	tick := float64(l.length())
	lasts := max(0, o.Lasts/8, min(Tick, o.Lasts))
	n = min(l.size, (o.Free+l.left)/Share)
	if n <= o.Free/tiny {
		lasts = max(0, o.Lasts)
	}
	part := min(1, float64(n)/float64(max(1, l.size)), float64(lasts)/tick)
	if o.Per > 0 {
		away := part * tick / o.Per
		if all := float64(n) + away; all > float64(o.Free)/Share {
			part *= float64(o.Free) / Share / all
		}
		extra = flow(part*tick, o.Per)
	}
	if n = int64(part * float64(l.size)); n < least {
		return 0, 0
	}
	return n, extra
}

// flow returns how many tokens flow in a time.
func flow(t, per float64) int64 {
	if per == 0 {
		return 0
	}
	return int64(t / per)
}

// Lasts returns how long so many hits last.
func (l *Lease) Lasts(n int64) time.Duration {
	return time.Duration(float64(l.length()) * float64(n) / float64(max(1, l.size)))
}

// Filled adds the hits of a refill.
func (l *Lease) Filled(got int64) {
	l.left, l.asking = l.left+got, false
	if l.dry && got > 0 {
		l.size = min(2*l.size, most)
	}
	l.dry = false
}

// Failed ends a refill that has brought nothing. The next one is asked for after a while.
func (l *Lease) Failed() {
	l.asking, l.dry = false, false
	l.pause = l.last + max(rest, l.length()/8)
}

// Lose takes hits off that nobody may use any more.
func (l *Lease) Lose(n int64) { l.left -= n }

// Give puts hits back that were taken, for a call that was denied.
func (l *Lease) Give(cost int64) { l.left += cost }

// Left returns how many hits the lease has.
func (l *Lease) Left() int64 { return l.left }

// Next begins the next window: the hits of this one are of no use any more.
func (l *Lease) Next() {
	l.left, l.asking, l.early, l.dry = 0, false, false, false
}

// Idle returns how many hits are to be returned to Redis, and takes them from the lease: all if
// nobody has used one for a tick, or for two of the shortest, else those that are far more than a
// tick needs, with those that flow away in it. over says that the lease has not been used for long: a second,
// or a slow key's tick. per is the time in which a token flows into a bucket, 0 for a window.
func (l *Lease) Idle(at time.Duration, per float64) (surplus int64, over bool) {
	unused := at - l.last
	if unused > max(2*Tick, l.length()) {
		surplus = l.left
	} else {
		surplus = max(0, l.left-2*(l.size+flow(float64(l.length()), per)))
	}
	l.left -= surplus
	return surplus, unused > max(unusedLong, l.length())
}
