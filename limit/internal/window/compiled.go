package window

import (
	"sync/atomic"
	"time"
)

const daySeconds = 24 * 60 * 60

// A Compiled has windows that are periods of a calendar. It is safe for concurrent use.
type Compiled struct {
	days, months, begins int64 // see units
	later                int64 // days later than the unit begins
	zone                 *time.Location
	recent               atomic.Pointer[period]
}

// A period is a window of a calendar, in seconds of Unix time: zones change at whole seconds.
type period struct{ number, begin, end int64 }

// At returns the window of now. Windows are numbered as the days, weeks, months or years of the
// calendar are; a day that a zone leaves out has a number and no window. A window begins when the
// zone's date is its first day, or a later one, for the first time. So it begins once, even where
// clocks are set back over midnight, and at 1 o'clock where they skip midnight.
func (c *Compiled) At(now time.Time) Window {
	at, p := now.Unix(), c.recent.Load()
	if p == nil || at < p.begin || at >= p.end {
		p = c.find(now)
		c.recent.Store(p)
	}
	return Window{
		Number:  p.number,
		Length:  time.Duration(p.end-p.begin) * time.Second,
		Elapsed: time.Duration(at-p.begin)*time.Second + time.Duration(now.Nanosecond()),
	}
}

func (c *Compiled) find(now time.Time) *period {
	_, offset := now.In(c.zone).Zone()
	n := c.number(floor(now.Unix()+int64(offset), daySeconds))
	for c.begin(n+1) <= now.Unix() { // clocks were set back over midnight: the next one has begun
		n++
	}
	return &period{n, c.begin(n), c.begin(n + 1)}
}

// begin returns when the zone's date is the period's first day, or a later one, for the first time.
func (c *Compiled) begin(number int64) int64 {
	midnight := c.first(number) * daySeconds           // in UTC
	at := time.Unix(midnight-daySeconds, 0).In(c.zone) // no zone is a day ahead
	for {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		begin := max(at.Unix(), midnight-int64(offset))
		if end.IsZero() || begin < end.Unix() {
			return begin
		}
		at = end
	}
}
