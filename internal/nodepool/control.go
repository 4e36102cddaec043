package nodepool

import "time"

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

// Why the size changes, for the log.
const (
	growWaiters    = "waiters"    // callers waited
	growSaturation = "saturation" // more than growAbove in use; at the minimum, more than all
	shrinkQuiet    = "quiet"      // less than shrinkBelow in use for the quiet time
)

// A control is the law's state: the wanted size, and what it knows of the time
// since the load was last high enough for that size.
type control struct {
	min, max int
	fill     int           // percent; growTo, but for tests and dedicated connections
	quiet    time.Duration // how long the load must be low

	target int       // the wanted size, min to max
	low    bool      // the load is
	since  time.Time // the first look at which it was
	peak   int       // the highest load since then
}

// A sample is what a pool knows when it looks.
type sample struct {
	now     time.Time
	open    int // connections that serve, or are being dialled
	load    int // the highest since the last look
	waiters int // now
}

// grow returns the wanted size, and why if it is to grow. The pool asks at
// every wait. The size is for the whole load, not one more: a step of the load
// takes a step or two. While connections that are wanted are yet to be dialled,
// the answer waits; more of the callers will be there by then.
func (c *control) grow(s sample) (to int, why string) {
	limit := growAbove
	if c.target == c.min {
		limit = 100
	}
	if c.target == c.max || s.open < c.target || 100*s.load <= limit*c.target {
		return c.target, ""
	}
	to = min(c.sized(s.load), c.max)
	switch {
	case to <= c.target:
		return c.target, ""
	case s.waiters > 0:
		return to, growWaiters
	}
	return to, growSaturation
}

// look returns the wanted size, and why if it is to change. The pool looks at
// its load regularly.
func (c *control) look(s sample) (to int, why string) {
	if to, why = c.grow(s); why != "" {
		return to, why
	}
	switch {
	case 100*s.load >= c.shrinkBelow()*c.target:
		c.low = false
		return c.target, ""
	case !c.low: // this peak may be the end of what was before
		c.rest(s.now)
		return c.target, ""
	}
	c.peak = max(c.peak, s.load)
	if to = c.shrunk(); to >= c.target || s.now.Sub(c.since) < c.quiet {
		return c.target, ""
	}
	return to, shrinkQuiet
}

// shrinkBelow returns the saturation, in percent, below which the load is low. In a pool that keeps none
// to spare, it is low whenever a connection is free.
func (c *control) shrinkBelow() int {
	if c.fill == 100 {
		return 100
	}
	return shrinkBelow
}

// shrunk returns the size for the highest load of the quiet time.
func (c *control) shrunk() int {
	if c.peak <= c.min {
		return c.min
	}
	return max(c.sized(c.peak), c.min)
}

// sized returns how many connections the load fills to the wanted share.
func (c *control) sized(load int) int { return (100*load + c.fill - 1) / c.fill }

// resize makes the size the wanted one.
func (c *control) resize(to int) {
	c.target, c.low = to, false
}

// rest begins the quiet time.
func (c *control) rest(now time.Time) { c.low, c.since, c.peak = true, now, 0 }
