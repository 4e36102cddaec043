package share

import "time"

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
	known  bool          // whether demand is
	demand float64       // hits in a window
	hits   int64         // since the last estimate of demand
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

func (c *client) report(now time.Time, hits int64, s *Settings) {
	c.gone = false
	c.hits += hits
	c.over += now.Sub(c.seen)
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
	demand := float64(c.hits) * float64(s.Window) / float64(c.over)
	if c.known && demand < c.demand {
		demand = (demand + c.demand) / 2 // it rises at once and falls slowly
	}
	c.demand, c.known, c.hits, c.over = demand, true, 0, 0
}

// want returns how much the client can use, with a little to grow into.
func (c *client) want() int64 { return int64(c.demand*9/8) + 1 }

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
