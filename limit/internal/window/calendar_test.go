package window

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type Calendar struct {
	Unit     Unit
	Zone     string
	StartsOn int
}

func (c Calendar) Compile() (*Compiled, error) { return Compile(c.Unit, c.Zone, c.StartsOn) }

func compile(t testing.TB, c Calendar) *Compiled {
	t.Helper()
	compiled, err := c.Compile()
	require.NoError(t, err)
	return compiled
}

// TestCalendar: the periods around some days that are not like others.
func TestCalendar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		calendar        Calendar
		now, begin, end string
		number          int64
	}{
		{Calendar{Unit: Day}, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z", 0},
		{Calendar{Unit: Day}, "1969-12-31T23:59:59.9Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z", -1},
		{Calendar{Unit: Week}, "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z", 0},
		{Calendar{Unit: Week, StartsOn: 7}, "2026-11-29T22:00:00Z", "2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z", 2969},
		{Calendar{Unit: Month}, "1969-12-31T00:00:00Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z", -1},
		{Calendar{Unit: Year}, "2000-12-31T23:59:59Z", "2000-01-01T00:00:00Z", "2001-01-01T00:00:00Z", 30},
		// A day of 23 hours, one of 25 hours, and the months in which they are.
		{Calendar{Unit: Day, Zone: "Europe/Berlin"}, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", 20541},
		{Calendar{Unit: Day, Zone: "Europe/Berlin"}, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 20751},
		{Calendar{Unit: Month, Zone: "Europe/Berlin"}, "2026-03-15T12:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z", 674},
		{Calendar{Unit: Month, Zone: "Europe/Berlin", StartsOn: 15}, "2026-03-14T22:59:59Z", "2026-02-14T23:00:00Z", "2026-03-14T23:00:00Z", 673},
		// Shorter months begin the period on their last day.
		{Calendar{Unit: Month, StartsOn: 31}, "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z", 697},
		{Calendar{Unit: Month, StartsOn: 30}, "2026-02-27T23:00:00Z", "2026-01-30T00:00:00Z", "2026-02-28T00:00:00Z", 672},
		// Midnight does not exist.
		{Calendar{Unit: Day, Zone: "Asia/Beirut"}, "2024-03-31T12:00:00Z", "2024-03-30T22:00:00Z", "2024-03-31T21:00:00Z", 19813},
		// Midnight comes twice, with the same date.
		{Calendar{Unit: Day, Zone: "America/Havana"}, "2024-11-03T12:00:00Z", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z", 20030},
		// At one minute past midnight clocks went back to the day before.
		{Calendar{Unit: Day, Zone: "America/St_Johns"}, "2010-11-07T03:00:00Z", "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z", 14920},
		// There was no 30 December.
		{Calendar{Unit: Day, Zone: "Pacific/Apia"}, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", 15337},
		{Calendar{Unit: Day, Zone: "Pacific/Apia"}, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z", 15339},
		{Calendar{Unit: Month, Zone: "Pacific/Apia", StartsOn: 30}, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2012-01-29T10:00:00Z", 503},
	} {
		parse := func(s string) time.Time {
			at, err := time.Parse(time.RFC3339Nano, s)
			require.NoError(t, err)
			return at
		}
		begin := parse(c.begin)
		w := Window{c.number, parse(c.end).Sub(begin), parse(c.now).Sub(begin)}
		require.Equal(t, w, compile(t, c.calendar).At(parse(c.now)), "%v at %s", c.calendar, c.now)
	}
}

// TestCompileRefuses: an error begins with the field and its value.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for begins, c := range map[string]Calendar{
		"Unit = Unit(0): ":       {},
		"Unit = Unit(5): ":       {Unit: 5},
		"StartsOn = 1: ":         {Unit: Day, StartsOn: 1},
		"StartsOn = 2: ":         {Unit: Year, StartsOn: 2},
		"StartsOn = 8: ":         {Unit: Week, StartsOn: 8},
		"StartsOn = -1: ":        {Unit: Week, StartsOn: -1},
		"StartsOn = 32: ":        {Unit: Month, StartsOn: 32},
		"Zone = Local: ":         {Unit: Month, Zone: "Local"},
		"Zone = Europe/Berlim: ": {Unit: Month, Zone: "Europe/Berlim"},
		"Zone = ../etc/passwd: ": {Unit: Month, Zone: "../etc/passwd"},
	} {
		_, err := c.Compile()
		require.ErrorContains(t, err, begins)
	}
}

// TestZonesAreShared: many calendars have one zone in memory; names without end have none.
func TestZonesAreShared(t *testing.T) {
	t.Parallel()
	month, day := compile(t, Calendar{Unit: Month, Zone: "Asia/Tokyo"}), compile(t, Calendar{Unit: Day, Zone: "Asia/Tokyo"})
	require.Same(t, month.zone, day.zone)
	_, _ = Calendar{Unit: Day, Zone: "Asia/./Tokyo"}.Compile()
	_, ok := zones.Load("Asia/./Tokyo")
	require.False(t, ok)
}

// TestCalendarIsShared: goroutines whose moments lie in different periods do not disturb each other.
func TestCalendarIsShared(t *testing.T) {
	t.Parallel()
	c := compile(t, Calendar{Unit: Day, Zone: "Europe/Berlin"})
	var group sync.WaitGroup
	for g := range int64(4) {
		group.Go(func() {
			for i := range int64(1000) {
				now := time.Unix((g+i%3)*daySeconds+12*60*60, 0)
				if w := c.At(now); w.Number != g+i%3 || w.Elapsed != 13*time.Hour {
					t.Errorf("%v: %+v", now, w)
				}
			}
		})
	}
	group.Wait()
}

func TestAtDoesNotAllocate(t *testing.T) {
	c := compile(t, Calendar{Unit: Month, Zone: "Europe/Berlin", StartsOn: 15})
	now := time.Now()
	c.At(now)
	require.Zero(t, testing.AllocsPerRun(100, func() { c.At(now) }))
}

func BenchmarkCalendar(b *testing.B) {
	c := compile(b, Calendar{Unit: Month, Zone: "Europe/Berlin", StartsOn: 15})
	now := time.Now()
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.At(now)
		}
	})
	b.Run("another", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.recent.Store(nil)
			c.At(now)
		}
	})
}
