package limit

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/limit/internal/window"
)

// A Unit is the period of a [Calendar].
type Unit = window.Unit

// The units of a Calendar.
const (
	Day   = window.Day
	Week  = window.Week
	Month = window.Month
	Year  = window.Year
)

// A Calendar makes the windows of a [Rule] days, weeks, months or years. They begin at midnight in a
// time zone, or at the first moment of their first day if clocks skip midnight. So a day in which
// clocks change has 23 or 25 hours.
type Calendar struct {
	// Unit is Day, Week, Month or Year. It has no default.
	Unit Unit

	// Zone is the IANA name of the time zone, such as Europe/Berlin. Default UTC. Rule.New loads it
	// from the system's tz database, once in a process. If there is none, the program has to import
	// time/tzdata. All processes should have the same database.
	Zone string

	// StartsOn is the first day of a Week, 1 (Monday, the default) to 7 (Sunday), or of a Month, 1 (the
	// default) to 31. A month that is shorter begins on its last day. Days and years have none.
	StartsOn int
}

// compile returns nil for the zero Calendar.
func (c Calendar) compile(rule string) (*window.Compiled, error) {
	if c == (Calendar{}) {
		return nil, nil
	}
	compiled, err := window.Compile(c.Unit, c.Zone, c.StartsOn)
	if err != nil {
		return nil, fmt.Errorf("limit: Rule %s: Calendar.%w", rule, err)
	}
	return compiled, nil
}

// windowAt returns the window of now, by the clock that now is of.
func (l *Limit) windowAt(now time.Time) window.Window {
	if l.calendar != nil {
		return l.calendar.At(now)
	}
	return window.At(now, l.rule.Window)
}

// part returns the part of a key that stands for the window. The letter of a bucket, and of a calendar's unit, is a
// capital, which no number in base 36 has, so that no window of a fixed length has the same key.
func (l *Limit) part(number int64) string {
	if l.rule.Algorithm == TokenBucket {
		return "B"
	}
	return [...]string{"", "D", "W", "M", "Y"}[l.rule.Calendar.Unit] + strconv.FormatInt(number, 36)
}

// length returns how long a window is; months and years are about so long.
func (r *Rule) length() time.Duration {
	const day = 24 * time.Hour
	return [...]time.Duration{r.Window, day, 7 * day, 30 * day, 365 * day}[r.Calendar.Unit]
}
