package window

import (
	"archive/zip"
	"go/build"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // for zones that the system does not have

	"github.com/stretchr/testify/require"
)

// zoneNames returns the names of the tz database, one of each that are links to the same zone.
func zoneNames(t *testing.T) (names []string) {
	t.Helper()
	all, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	defer all.Close()
	seen := map[string]bool{}
	for _, f := range all.File {
		if f.FileInfo().IsDir() {
			continue
		}
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		if !seen[string(content)] {
			seen[string(content)] = true
			names = append(names, f.Name)
		}
	}
	require.Greater(t, len(names), 300)
	return names
}

// A begun is when a local day began in a zone, or the next one if the zone left it out.
type begun struct {
	at  int64
	odd bool // the zone's offset changed within the two days before, or after
}

func dayIn(zone *time.Location, at int64) int64 {
	y, m, d := time.Unix(at, 0).In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
}

func offsetIn(zone *time.Location, at int64) int {
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return offset
}

// daysOf returns the days that begin between two midnights in UTC, from the second one on. It steps through the
// time: by days, and where the offset changes by hours, minutes and seconds.
func daysOf(zone *time.Location, from, to int64) (days []begun) {
	first := from/daySeconds + 2
	begin := func(at int64) {
		for day := dayIn(zone, at); first+int64(len(days)) <= day; {
			days = append(days, begun{at: at})
		}
	}
	var changes []int64
	var walk func(from, to int64, steps []int64)
	walk = func(from, to int64, steps []int64) {
		for at := from; at < to; at += steps[0] {
			next := at + steps[0]
			switch offset := offsetIn(zone, at); {
			case offset == offsetIn(zone, next):
				if midnight := next - (next+int64(offset))%daySeconds; midnight > at {
					begin(midnight)
				}
			case steps[0] == 1:
				changes = append(changes, next)
				begin(next)
			default:
				walk(at, next, steps[1:])
			}
		}
	}
	walk(from, to, []int64{daySeconds, 60 * 60, 60, 1})
	for i := range days {
		days[i].odd = slices.ContainsFunc(changes, func(at int64) bool { return max(at-days[i].at, days[i].at-at) < 2*daySeconds })
	}
	return days
}

// begins reports whether a period of the calendar begins on the day.
func begins(c Calendar, day int64) bool {
	at := time.Unix(day*daySeconds, 0).UTC()
	switch c.Unit {
	case Week:
		return at.Weekday() == time.Weekday(max(1, c.StartsOn)%7)
	case Month:
		return at.Day() == c.StartsOn || at.Day() < c.StartsOn && at.AddDate(0, 0, 1).Day() == 1
	case Year:
		return at.YearDay() == 1
	}
	return true
}

var calendars = []Calendar{
	{Unit: Day}, {Unit: Week}, {Unit: Week, StartsOn: 6}, {Unit: Week, StartsOn: 7},
	{Unit: Month, StartsOn: 1}, {Unit: Month, StartsOn: 15}, {Unit: Month, StartsOn: 29}, {Unit: Month, StartsOn: 30}, {Unit: Month, StartsOn: 31}, {Unit: Year},
}

// TestZones: in each zone, the windows of a calendar are exactly the periods that a walk through twenty-four
// years with package time finds: each moment is in one of them.
func TestZones(t *testing.T) {
	t.Parallel()
	from, to := time.Date(2009, 12, 20, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2034, 1, 10, 0, 0, 0, 0, time.UTC).Unix()
	firsts := make([][]int64, len(calendars)) // the days on which periods begin, as indexes of what daysOf returns
	for i, c := range calendars {
		for day := from/daySeconds + 2; day < to/daySeconds-1; day++ {
			if begins(c, day) {
				firsts[i] = append(firsts[i], day-from/daySeconds-2)
			}
		}
	}
	for _, name := range zoneNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			require.NoError(t, err)
			days := daysOf(zone, from, to)
			for i, c := range calendars {
				c.Zone = name
				requirePeriods(t, c, firsts[i], days)
			}
		})
	}
}

func requirePeriods(t *testing.T, c Calendar, firsts []int64, days []begun) {
	t.Helper()
	compiled := compile(t, c)
	number := compiled.At(time.Unix(days[firsts[0]].at, 0)).Number
	for i, first := range firsts[:len(firsts)-1] {
		begin, end := days[first], days[firsts[i+1]]
		length := time.Duration(end.at-begin.at) * time.Second
		if length > 0 && (begin.odd || rand.N(1+len(firsts)/50) == 0) {
			for _, elapsed := range []time.Duration{0, min(30*time.Minute, length-1), rand.N(length), length - 1} {
				now, want := time.Unix(begin.at, int64(elapsed)), Window{number, length, elapsed}
				for range 2 { // with the period of the moment before, and with none
					if w := compiled.At(now); w != want {
						t.Fatalf("%+v at %v: %+v, want %+v", c, now.UTC(), w, want)
					}
					compiled.recent.Store(nil)
				}
			}
		}
		number++
	}
}

// FuzzAt: every moment is in one window, which ends where the next one begins.
func FuzzAt(f *testing.F) {
	f.Add("Europe/Berlin", byte(Month), 31, int64(1_800_000_000), int64(1))
	f.Add("Pacific/Apia", byte(Day), 0, int64(1_325_239_200), int64(-1))
	f.Add("America/St_Johns", byte(Week), 7, int64(1_289_098_860), int64(0))
	f.Add("Asia/Manila", byte(Year), 0, int64(-3_944_621_033), int64(999))
	f.Fuzz(func(t *testing.T, zone string, unit byte, startsOn int, seconds, nanoseconds int64) {
		c, err := Calendar{Unit: Unit(unit), Zone: zone, StartsOn: startsOn}.Compile()
		if err != nil || seconds < -1<<37 || seconds > 1<<37 {
			t.Skip()
		}
		now := time.Unix(seconds, nanoseconds)
		w := c.At(now)
		require.True(t, w.Elapsed >= 0 && w.Left() > 0)
		begin, end := now.Add(-w.Elapsed), now.Add(w.Left())
		require.Equal(t, w, c.At(now))
		require.Equal(t, Window{w.Number, w.Length, 0}, c.At(begin))
		require.Equal(t, Window{w.Number, w.Length, w.Length - 1}, c.At(end.Add(-1)))
		before, after := c.At(begin.Add(-1)), c.At(end)
		require.True(t, before.Number < w.Number && before.Left() == 1)
		require.True(t, after.Number > w.Number && after.Elapsed == 0)
		require.GreaterOrEqual(t, dayIn(c.zone, begin.Unix()), c.first(w.Number))
		require.Less(t, dayIn(c.zone, begin.Unix()-1), c.first(w.Number))
	})
}
