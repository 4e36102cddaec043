package health

import "time"

// A Time is how long the process had run since its [Clock] was started. The zero Time
// is none.
type Time time.Duration

// A Clock measures the time that the process runs. Between two looks, it counts what was
// planned and, for a busy machine, a little more. Beyond that the process, or the whole
// machine, was frozen, which is no silence of the server: its replies may have arrived.
type Clock struct {
	run     Time      // at the last look
	looked  time.Time // when that was
	planned time.Duration
}

func newClock(now time.Time, planned time.Duration) Clock {
	return Clock{run: 1, looked: now, planned: planned}
}

// at returns the time of an event between two looks.
func (c *Clock) at(now time.Time) Time {
	return c.run + Time(min(max(0, now.Sub(c.looked)), c.planned))
}

// look moves the clock on. It counts slack beyond what was planned.
func (c *Clock) look(now time.Time, slack time.Duration) {
	c.run += Time(min(max(0, now.Sub(c.looked)), c.planned+slack))
	c.looked = now
}
