package window

import (
	"fmt"
	"path"
	"sync"
	"time"
)

// A Unit is a period of the calendar.
type Unit uint8

// The units of a Calendar. 0 is none.
const (
	Day Unit = 1 + iota
	Week
	Month
	Year
)

// String returns the name of the constant.
func (u Unit) String() string {
	if u < Day || u > Year {
		return fmt.Sprintf("Unit(%d)", uint8(u))
	}
	return [...]string{"Day", "Week", "Month", "Year"}[u-Day]
}

// units have how many days or months a period has, the first day of period 0, and how many days StartsOn may be about.
var units = [...]struct {
	days, months, begins int64
	most                 int
}{
	Day:   {days: 1},
	Week:  {days: 7, begins: -3, most: 7}, // 1969-12-29 was a Monday
	Month: {months: 1, most: 31},
	Year:  {months: 12},
}

// Compile returns windows that are periods of the calendar of a time zone, UTC if that is "". A week starts on day
// startsOn, 1 (Monday) to 7. So does a month, or on its last day if it is shorter. 0 is 1. Errors begin with the name
// of a field of limit.Calendar and its value.
func Compile(unit Unit, zoneName string, startsOn int) (*Compiled, error) {
	if unit < Day || unit > Year {
		return nil, wrong("Unit", unit, "want Day, Week, Month or Year")
	}
	u := units[unit]
	switch {
	case startsOn != 0 && u.most == 0:
		return nil, wrong("StartsOn", startsOn, "only a Week and a Month have one")
	case startsOn < 0 || startsOn > u.most:
		return nil, wrong("StartsOn", startsOn, fmt.Sprintf("must be 1 to %d for a %v", u.most, unit))
	case zoneName == "Local": // another one in each process
		return nil, wrong("Zone", zoneName, "want a name such as Europe/Berlin")
	}
	zone, err := load(zoneName)
	if err != nil {
		return nil, wrong("Zone", zoneName, err)
	}
	return &Compiled{days: u.days, months: u.months, begins: u.begins, later: int64(max(1, startsOn)) - 1, zone: zone}, nil
}

// zones are those that were loaded, *time.Location by name: many calendars have the same one.
var zones sync.Map

func load(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil && path.Clean(name) == name { // Europe/./Berlin also leads to a file, and there is no end of such names
		zones.Store(name, zone)
	}
	return zone, err
}

func wrong(field string, value, why any) error { return fmt.Errorf("%s = %v: %v", field, value, why) }

// number returns the number of the period that begins on this day of the calendar, or before.
// Days are counted from 1970-01-01 on.
func (c *Compiled) number(day int64) int64 {
	if c.days > 0 {
		return floor(day-c.first(0), c.days)
	}
	year, month, _ := time.Unix(day*daySeconds, 0).UTC().Date()
	n := floor(12*int64(year-1970)+int64(month-1), c.months)
	if day < c.first(n) {
		n--
	}
	return n
}

// first returns the first day of the period.
func (c *Compiled) first(number int64) int64 {
	if c.days > 0 {
		return c.days*number + c.begins + c.later
	}
	month, next := firstOf(c.months*number), firstOf(c.months*number+1)
	return min(month+c.later, next-1)
}

// firstOf returns the first day of the month. Months are counted from 1970-01 on.
func firstOf(month int64) int64 {
	return floor(time.Date(1970, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC).Unix(), daySeconds)
}

// floor returns a/b, rounded down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
