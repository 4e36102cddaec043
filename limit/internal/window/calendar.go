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

// A Calendar has windows that are periods of the calendar.
type Calendar struct {
	Unit     Unit
	Zone     string // the IANA name of a time zone; "" is UTC
	StartsOn int    // of a Week 1 (Monday) to 7; of a Month the day, or its last one if it is shorter; 0 is 1
}

// Compile loads the time zone. Its errors begin with the name of a field and its value.
func (c Calendar) Compile() (*Compiled, error) {
	most := 0
	switch c.Unit {
	case Day, Year:
	case Week:
		most = 7
	case Month:
		most = 31
	default:
		return nil, wrong("Unit", c.Unit, "want Day, Week, Month or Year")
	}
	switch {
	case c.StartsOn != 0 && most == 0:
		return nil, wrong("StartsOn", c.StartsOn, "only a Week and a Month have one")
	case c.StartsOn < 0 || c.StartsOn > most:
		return nil, wrong("StartsOn", c.StartsOn, fmt.Sprintf("must be 1 to %d for a %v", most, c.Unit))
	case c.Zone == "Local": // another one in each process
		return nil, wrong("Zone", c.Zone, "want a name such as Europe/Berlin")
	}
	zone, err := load(c.Zone)
	if err != nil {
		return nil, wrong("Zone", c.Zone, err)
	}
	return &Compiled{unit: c.Unit, startsOn: int64(max(1, c.StartsOn)), zone: zone}, nil
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
	switch c.unit {
	case Day:
		return day
	case Week:
		return floor(day-c.firstWeek(), 7)
	}
	year, month, _ := time.Unix(day*daySeconds, 0).UTC().Date()
	n := int64(year - 1970)
	if c.unit == Month {
		n = 12*n + int64(month-1)
		if day < c.first(n) {
			n--
		}
	}
	return n
}

// first returns the first day of the period.
func (c *Compiled) first(number int64) int64 {
	switch c.unit {
	case Day:
		return number
	case Week:
		return 7*number + c.firstWeek()
	case Month:
		month := firstOf(1970, 1+number)
		return month + min(c.startsOn, firstOf(1970, 2+number)-month) - 1
	}
	return firstOf(1970+number, 1)
}

// firstWeek returns the first day of week 0: 1969-12-29 was a Monday.
func (c *Compiled) firstWeek() int64 { return c.startsOn - 4 }

// firstOf returns the first day of the month.
func firstOf(year, month int64) int64 {
	return floor(time.Date(int(year), time.Month(month), 1, 0, 0, 0, 0, time.UTC).Unix(), daySeconds)
}

// floor returns a/b, rounded down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
