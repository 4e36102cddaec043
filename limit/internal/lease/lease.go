package lease

import "time"

// A Lease is hits on one key of one window that Redis has counted and nobody has used. It is
// not safe for concurrent use.
type Lease struct {
	left   int64 // hits to hand out
	free   int64 // hits that Redis could still grant, as far as is known
	asking bool  // a refill is wanted, or under way
	early  bool  // the refill was asked for while there were hits left
	dry    bool  // they did not last until it came
	fills  int64 // how many refills there were
	taught bool  // a reply has come since the refill was asked for
	known  bool  // a reply has said in this window what is free

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

	ample = 64   // of the hits that remain: a refill of one in so many needs no care
	tiny  = 1024 // of the hits that remain: one in so many does not matter

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

// Take takes a hit from the lease if that has enough; else it takes nothing. ask, if not 0, is
// how many hits the caller must ask for, soon: then it must call [Lease.Filled] or
// [Lease.Failed], unless the window or the lease ends before. A hit that costs more than the lease should have asks for nothing, since its
// refill would hold hits that the next such hit cannot use. ends is when the window does, from now.
func (l *Lease) Take(cost int64, at, ends time.Duration) (ok bool, ask int64) {
	l.note(cost, at)
	if ok = cost <= l.left; ok {
		l.left -= cost
	} else if l.asking && l.early {
		l.dry = true
	}
	if want := l.want(ends); !l.asking && cost <= want && l.left < (want+3)/4 && at >= l.pause {
		l.asking, l.early, l.taught = true, l.left > 0, false
		return ok, want - l.left
	}
	return ok, 0
}

// Again is Take for a hit that has waited for a refill, after Take had too few hits for it.
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

// want returns how many hits the lease should have: those of its length, but only a small share of
// what remains. Hits that nobody has used when the window ends are lost. So the lease also has only
// the hits of an eighth of the time that remains, or of a Tick if that is longer. This bound does
// not hold for a tiny share of what is free: then little is lost.
func (l *Lease) want(ends time.Duration) int64 {
	n := min(l.size, (l.free+l.left)/Share)
	lasts := max(0, ends/8, min(Tick, ends))
	if n <= l.free/tiny {
		lasts = max(0, ends)
	}
	if lasts < l.length() {
		n = int64(float64(n) * float64(lasts) / float64(l.length()))
	}
	if n < least {
		return 0
	}
	return n
}

// Lasts returns how long so many hits last.
func (l *Lease) Lasts(n int64) time.Duration {
	return time.Duration(float64(l.length()) * float64(n) / float64(max(1, l.size)))
}

// Ample reports whether n hits are so small a part of what remains that they fit unless others
// use up all the rest meanwhile. Before a reply has said what remains, the part must be tiny.
func (l *Lease) Ample(n int64) bool {
	if !l.known {
		return n <= l.free/tiny
	}
	return n <= l.free/ample
}

// Filled adds the hits of a refill, and notes how many Redis could still grant.
func (l *Lease) Filled(got, free int64) {
	if l.taught { // which of the two is older is not known
		free = min(free, l.free)
	}
	l.left, l.free, l.asking, l.known, l.fills = l.left+got, free, false, true, l.fills+1
	if l.dry && got > 0 {
		l.size = min(2*l.size, most)
	}
	l.dry = false
}

// Failed ends a refill that failed. The next one is asked for after a while.
func (l *Lease) Failed() {
	l.asking, l.dry = false, false
	l.pause = l.last + max(rest, l.length()/8)
}

// Fills returns how many refills there were.
func (l *Lease) Fills() int64 { return l.fills }

// Learn notes how many hits Redis could still grant, as the reply to a hit has said. fills is
// what Fills was before the hit.
func (l *Lease) Learn(free, fills int64) {
	l.taught, l.known = true, true
	if fills != l.fills { // which of the two is older is not known
		free = min(free, l.Free()-l.left)
	}
	l.free = free
}

// Lose takes hits off that nobody may use any more.
func (l *Lease) Lose(n int64) { l.left -= n }

// Give puts hits back that were taken, for a call that was denied.
func (l *Lease) Give(cost int64) { l.left += cost }

// Free returns how many hits are free, as far as is known: those of the lease, and those that
// Redis could still grant.
func (l *Lease) Free() int64 { return max(0, l.free) + l.left }

// Left returns how many hits the lease has.
func (l *Lease) Left() int64 { return l.left }

// Next begins the next window, of which the limit is free. It returns how many hits nobody has
// used in this one.
func (l *Lease) Next(limit int64) (unused int64) {
	unused = l.left
	*l = Lease{free: limit, level: l.level, pause: l.pause, fills: l.fills, since: l.since, hits: l.hits, last: l.last, size: l.size}
	return unused
}

// Idle returns how many hits are to be returned to Redis, and takes them from the lease: all if
// nobody has used one for a tick, or for two of the shortest, else those that are far more than a
// tick needs. over says that the lease has not been used for long: a second, or a slow key's tick.
func (l *Lease) Idle(at time.Duration) (surplus int64, over bool) {
	unused := at - l.last
	if unused > max(2*Tick, l.length()) {
		surplus = l.left
	} else {
		surplus = max(0, l.left-2*l.size)
	}
	l.left -= surplus
	l.free += surplus
	return surplus, unused > max(unusedLong, l.length())
}
