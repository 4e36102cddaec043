package share

import (
	"math"
	"time"
)

// A client is one that has sent a report.
type client struct {
	id   ID
	gone bool // its stream has ended, or the bucket was abandoned

	now     grant     // the assignment that was sent last
	before  grant     // what may still be in force in its place
	changed time.Time // when now became another one
	sent    time.Time // when Decide returned now last; zero: it has to again
	queued  bool      // now was not sent yet as it is

	seen   time.Time     // the last report
	used   time.Time     // the last report with hits
	demand float64       // hits in a window, the mean of weight
	weight time.Duration // how long demand was seen; 0: it is not known
	hits   int64         // that demand does not have yet
	over   time.Duration // how long those took
}

// A grant is an assignment and when it ends, however late it is delivered.
type grant struct {
	share, tokens int64
	ends          time.Time
}

func (g *grant) at(now time.Time) int64 {
	if now.Before(g.ends) {
		return g.share
	}
	return 0
}

// inForce returns the largest share that the client may follow now.
func (c *client) inForce(now time.Time) int64 { return max(c.now.at(now), c.before.at(now)) }

// pending returns how much the client gives back as soon as it has confirmed.
func (c *client) pending(now time.Time) int64 { return c.inForce(now) - c.now.at(now) }

// live reports whether the client gets assignments.
func (c *client) live(now time.Time, s *Settings) bool {
	return !c.gone && now.Sub(c.seen) <= s.Silence
}

func (c *client) report(now time.Time, hits int64, elapsed time.Duration, s *Settings) {
	c.gone = false
	c.hits += hits
	if elapsed <= 0 {
		elapsed = now.Sub(c.seen)
	}
	c.over += elapsed
	c.seen = now
	if hits > 0 {
		c.used = now
	}
	if !c.queued && now.Sub(c.changed) >= s.Delivery {
		c.before = grant{} // the client has what was sent before its report
	}
	if c.over < s.Delivery {
		return // too short to tell its demand
	}
	c.learn(s)
}

// memory is how many times to live demand is the mean of, if its changes may be chance.
const memory = 4

// learn takes in the hits since the last time. If hits come at random, their number is off by its square
// root. One that is off by three times that is a change: demand rises at once and falls by half.
func (c *client) learn(s *Settings) {
	windows := float64(c.over) / float64(s.Window)
	hits, expected := float64(c.hits), c.demand*windows
	before := min(c.weight, memory*s.TTL)
	switch off := hits - expected; {
	case math.Abs(off) <= 1+3*math.Sqrt(expected):
	case off > 0:
		before = 0
	default:
		before = min(before, c.over)
	}
	c.weight = before + c.over
	c.demand += (hits/windows - c.demand) * float64(c.over) / float64(c.weight)
	c.hits, c.over = 0, 0
}

// known reports whether demand is.
func (c *client) known() bool { return c.weight > 0 }

// want returns how much the client can use, in whole hits. Another report shows that it can use more.
func (c *client) want() int64 { return max(1, int64(c.demand+0.5)) }

// assign notes that an assignment is sent.
func (c *client) assign(now time.Time, share, tokens int64, s *Settings) {
	switch most := c.inForce(now); {
	case most == 0:
		c.before = grant{}
	case c.now.at(now) > 0: // it ends no earlier than the one before, which may be larger
		c.before = grant{share: most, ends: c.now.ends}
	}
	c.now = grant{share: share, tokens: tokens}
	c.queued = true
	c.renew(now, s)
}

// renew notes that the assignment is sent again.
func (c *client) renew(now time.Time, s *Settings) {
	c.sent = now
	if c.queued {
		c.changed = now
	}
	c.now.ends = now.Add(s.TTL + s.Delivery)
}
