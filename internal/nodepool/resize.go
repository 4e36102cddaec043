package nodepool

import (
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
)

// Following the load has three steps. Noting: an exclusive pool counts connections
// in use and their peak in becomeLocked. Deciding: control, which is pure, is asked at every wait and at every
// look. Doing: growLocked dials up to the target, trimLocked takes what is above it.

// A controller is a control and what it is told.
type controller struct {
	control
	open    int // connections that serve: neither closed nor about to be
	inUse   int // of the open ones, those that serve one caller
	highest int // load since the last look
}

// ranged reports whether the size can change at all.
func (c *controller) ranged() bool { return c.min < c.max }

func (s settings) controller() controller {
	fill := growTo
	if s.Kind == kindDedicated {
		fill = 100 // as many as are wanted: a spare one would rarely be used
	}
	return controller{control: control{min: s.Min, max: s.Max, fill: fill, quiet: s.IdleTimeout, target: s.Min}}
}

// becomeLocked changes what the connection is doing, and keeps count.
func (m *member) becomeLocked(to state) {
	c := &m.pool.size
	c.count(m.state, -1)
	c.count(to, 1)
	m.state = to
	if to == busy || to == dedicated {
		m.pool.noteLoadLocked()
	}
}

// noteLoadLocked keeps the highest load since the last look. A caller may have its reply,
// and even send its next batch, before the connection is free again, so a new record is
// counted exactly. Above what the wanted size carries, the load need not be known so well.
func (p *Pool) noteLoadLocked() {
	c := &p.size
	if !c.ranged() || c.highest > c.target {
		return
	}
	if c.inUse+p.queue.len() > c.highest {
		c.highest = max(c.highest, p.loadLocked())
	}
}

// loadLocked returns the load of this moment. PINGs do not count.
func (p *Pool) loadLocked() int {
	n := p.queue.len()
	for _, m := range p.members {
		if m.state == dedicated || m.state == busy && m.lane.InFlight() > 0 {
			n++
		}
	}
	return n
}

func (c *controller) count(s state, n int) {
	switch s {
	case busy, dedicated:
		c.inUse += n
		c.open += n
	case isIdle, shared:
		c.open += n
	}
}

// stretchLocked grows the wanted size at once if callers wait for more
// connections than there are or will be.
func (p *Pool) stretchLocked() {
	c := &p.size
	waiters, open := p.queue.len(), c.open+p.dialing
	if waiters == 0 {
		return
	}
	p.noteLoadLocked()
	if c.target == c.max || open < c.target || p.closed || p.retired {
		return
	}
	load := p.loadLocked()
	s := sample{now: time.Now(), open: open, load: load, waiters: waiters}
	if to, why := c.grow(s); why != "" {
		p.resizeLocked(to, why, s)
	}
}

// lookLocked lets the law see what happened since the last look. A server that
// is down has no load, which says nothing of the load that it will have.
func (p *Pool) lookLocked(now time.Time) {
	c := &p.size
	if !c.ranged() || p.closed || p.retired {
		return
	}
	s := sample{now: now, open: c.open + p.dialing, waiters: p.queue.len(), load: c.highest}
	c.highest = p.loadLocked()
	if p.health.State() == health.Down {
		c.low = false
		return
	}
	to, why := c.look(s)
	switch why {
	case "":
		return
	case shrinkQuiet:
		s.load = c.peak
	}
	p.resizeLocked(to, why, s)
}

func (p *Pool) resizeLocked(to int, why string, s sample) {
	from := p.size.target
	p.size.resize(to)
	p.noteStateLocked(guard.Resized, from, to, why, float64(s.load)/float64(max(1, from)), s.waiters)
}

// trimLocked takes connections that are not wanted any more away from callers.
func (p *Pool) trimLocked() {
	if surplus := p.size.open - p.size.target; surplus > 0 {
		p.access.trimLocked(surplus)
	}
}
