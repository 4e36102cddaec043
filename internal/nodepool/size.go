package nodepool

import (
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
)

// The law by which a pool with a range of sizes follows its load. The load is
// how many batches are in flight, waiting or on a dedicated connection at a time; the
// saturation is the load divided by what the wanted number of connections
// carries (growAbove, growTo, shrinkBelow).
//
// Why it does not oscillate: a shrink goes to a size that fits the highest load
// of the whole quiet time at 75 %, so only a load that is 1.2 times higher makes
// the pool grow again. After that, the load must fall to 0.4 times the one that
// made it grow before the pool shrinks. Min is the exception at both ends: a
// pool shrinks to Min if Min carries the load at all, and grows from Min when
// the load is more than Min carries, not at 90 % of it. Otherwise a steady load
// of Min callers could never rest at Min.
//
// A pool of dedicated connections, which keeps none to spare, shrinks to the highest
// load of the quiet time, and grows whenever the load is more than its size.

// Following the load has three steps. Noting: an exclusive pool counts connections
// in use and their peak in becomeLocked. Deciding: control, which is pure, is asked at every wait and at every
// look. Doing: growLocked dials up to the target, inspect takes what is above it.

// A control is the law's state: the wanted size, and what it knows of the time
// since the load was last high enough for that size.
type control struct {
	min, max int
	fill     int           // percent; growTo, but for tests and dedicated connections
	quiet    time.Duration // how long the load must be low

	target int       // the wanted size, min to max
	since  time.Time // the first look at which the load was low; zero: it is not
	peak   int       // the highest load since then

	open    int // connections that serve: neither closed nor about to be
	inUse   int // of the open ones, those that serve one caller
	highest int // load since the last look
}

// A sample is what a pool knows when it looks.
type sample struct {
	now     time.Time
	open    int // connections that serve, or are being dialled
	load    int // the highest since the last look
	waiters int // now
}

func (s settings) control() control {
	fill := growTo
	if s.Kind == kindDedicated {
		fill = 100 // as many as are wanted: a spare one would rarely be used
	}
	return control{min: s.Min, max: s.Max, fill: fill, quiet: s.IdleTimeout, target: s.Min}
}

// grow returns the wanted size, which is not less than it was. The pool asks at
// every wait. The size is for the whole load, not one more: a step of the load
// takes a step or two. While connections that are wanted are yet to be dialled,
// the answer waits; more of the callers will be there by then.
func (c *control) grow(s sample) int {
	limit := growAbove
	if c.target == c.min {
		limit = 100
	}
	if s.open < c.target || 100*s.load <= limit*c.target {
		return c.target
	}
	return max(c.target, min(c.sized(s.load), c.max))
}

// look returns the wanted size. The pool looks at its load regularly.
func (c *control) look(s sample) int {
	to, below := c.grow(s), shrinkBelow
	if c.fill == 100 {
		below = 100
	}
	switch {
	case to > c.target:
		return to
	case 100*s.load >= below*c.target:
		c.since = time.Time{}
		return c.target
	case c.since.IsZero(): // this peak may be the end of what was before
		c.since, c.peak = s.now, 0
		return c.target
	}
	if c.peak = max(c.peak, s.load); s.now.Sub(c.since) < c.quiet {
		return c.target
	}
	if c.peak <= c.min {
		return c.min
	}
	return min(c.target, max(c.sized(c.peak), c.min))
}

// sized returns how many connections the load fills to the wanted share.
func (c *control) sized(load int) int { return (100*load + c.fill - 1) / c.fill }

// resize makes the size the wanted one.
func (c *control) resize(to int) { c.target, c.since = to, time.Time{} }

// ranged reports whether the size can change at all.
func (c *control) ranged() bool { return c.min < c.max }

func (c *control) count(s state, n int) {
	switch s {
	case busy, dedicated:
		c.inUse += n
		c.open += n
	case isIdle, shared:
		c.open += n
	}
}

// noteLoadLocked keeps the highest load since the last look. A caller may have its reply,
// and even send its next batch, before the connection is free again, so a new record is
// counted exactly. Above what the wanted size carries, the load need not be known so well.
func (p *Pool) noteLoadLocked() {
	c := &p.size
	if c.ranged() && c.highest <= c.target && c.inUse+p.queue.len() > c.highest {
		c.highest = max(c.highest, p.queue.len()+p.members.load())
	}
}

// stretchLocked grows the wanted size at once if callers wait for more
// connections than there are or will be.
func (p *Pool) stretchLocked() {
	c := &p.size
	waiters, open := p.queue.len(), c.open+p.dials.underWay
	if waiters == 0 {
		return
	}
	p.noteLoadLocked()
	if c.target < c.max && open >= c.target && p.ended == nil {
		s := sample{open: open, load: waiters + p.members.load(), waiters: waiters}
		p.resizeLocked(c.grow(s), s)
	}
}

// lookLocked lets the law see what happened since the last look. A server that
// is down has no load, which says nothing of the load that it will have.
func (p *Pool) lookLocked(now time.Time) {
	c := &p.size
	if !c.ranged() || p.ended != nil {
		return
	}
	s := sample{now: now, open: c.open + p.dials.underWay, waiters: p.queue.len(), load: c.highest}
	c.highest = s.waiters + p.members.load()
	if p.health.State() == health.Down {
		c.since = time.Time{}
		return
	}
	p.resizeLocked(c.look(s), s)
}

// resizeLocked makes the size the wanted one, and says why: callers waited, the connections were used to more than
// growAbove, or they were idle for the quiet time.
func (p *Pool) resizeLocked(to int, s sample) {
	from, why := p.size.target, "saturation"
	switch {
	case to == from:
		return
	case to < from:
		s.load, why = p.size.peak, "quiet"
	case s.waiters > 0:
		why = "waiters"
	}
	p.size.resize(to)
	p.noteLocked(guard.Resized, from, to, why, float64(s.load)/float64(max(1, from)), s.waiters)
}
