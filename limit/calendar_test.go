package limit

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// calendarLimiter has one server in memory, whose time is that of a synctest bubble.
func calendarLimiter(t *testing.T) *Limiter {
	t.Helper()
	net, servers := simnet.New(1), model.New(model.Options{Seed: 1, Primaries: 1})
	node := servers.Nodes()[0]
	net.Listen(node.Addr(), servers.Serve(node))
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: net.Dialer("client")}, RefreshEvery: -1}.New(t.Context(), []string{node.Addr()})
	require.NoError(t, err)
	l, err := New(client)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, client.Close())
		net.Close()
	})
	return l
}

func sleepUntil(t *testing.T, at string) {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	require.True(t, moment.After(time.Now()))
	time.Sleep(time.Until(moment))
}

// TestCalendar: a denied call may be repeated when the next period begins in the zone, and not before.
func TestCalendar(t *testing.T) {
	for _, c := range []struct {
		now      string
		calendar Calendar
		ends     time.Duration // after now
		next     time.Duration // the length of the next period
	}{
		{"2000-01-14T22:00:00Z", Calendar{Month, "Europe/Berlin", 15}, time.Hour, 31 * 24 * time.Hour},
		{"2000-02-28T23:00:00Z", Calendar{Month, "", 31}, time.Hour, 31 * 24 * time.Hour},
		{"2000-03-25T22:00:00Z", Calendar{Day, "Europe/Berlin", 0}, time.Hour, 23 * time.Hour},
		{"2000-10-28T21:59:00Z", Calendar{Day, "Europe/Berlin", 0}, time.Minute, 25 * time.Hour},
		{"2000-11-04T23:00:00Z", Calendar{Week, "", 7}, time.Hour, 7 * 24 * time.Hour},
		{"2000-12-31T23:00:00Z", Calendar{Year, "", 0}, time.Hour, 365 * 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			sleepUntil(t, c.now)
			l := calendarLimiter(t)
			limit, err := Rule{Name: "user", Quota: 2, Calendar: c.calendar}.New(l)
			require.NoError(t, err)
			allow := func() Result { return l.Allow(t.Context(), Request{Limit: limit, Key: "k"}) }
			for range 2 {
				r := allow()
				require.NoError(t, r.Err)
				require.True(t, r.Allowed, c.now)
				require.Equal(t, c.ends, r.ResetAfter)
			}
			r := allow()
			require.False(t, r.Allowed)
			require.Equal(t, c.ends, r.RetryAfter)
			time.Sleep(r.RetryAfter - 1)
			require.False(t, allow().Allowed)
			time.Sleep(time.Nanosecond)
			r = allow()
			require.True(t, r.Allowed, c.now)
			require.Equal(t, c.next, r.ResetAfter)
		})
	}
}

// TestCalendarLease: hits that were leased in one period do not count in the next one.
func TestCalendarLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntil(t, "2000-03-25T22:59:55Z")
		l := calendarLimiter(t)
		limit, err := Rule{Name: "day", Quota: 1000, Calendar: Calendar{Day, "Europe/Berlin", 0}}.New(l)
		require.NoError(t, err)
		allowed, leased := map[string]int{}, 0
		zone, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		for range 2500 {
			r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
			require.NoError(t, r.Err)
			if r.Allowed {
				allowed[time.Now().In(zone).Format(time.DateOnly)]++
			}
			if r.Leased {
				leased++
			}
			time.Sleep(4 * time.Millisecond)
		}
		require.Equal(t, map[string]int{"2000-03-25": 1000, "2000-03-26": 1000}, allowed)
		require.Greater(t, leased, 1000)
	})
}

// TestCalendarKeys: no two units, and no windows of a fixed length, have the same key.
func TestCalendarKeys(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, unit := range []Unit{Day, Week, Month, Year, 0} {
		r := Rule{Name: "user", Calendar: Calendar{Unit: unit}}
		if unit == 0 {
			r = Rule{Name: "user", Window: time.Hour}
		}
		limit, err := r.New(new(Limiter))
		require.NoError(t, err)
		for _, number := range []int64{-400_000, -1, 0, 1, 56, 683, 20_786, 494_000} {
			key, _ := limit.names(number, "k")
			require.False(t, keys[key], key)
			keys[key] = true
		}
	}
}

func TestCalendarRefuses(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		"Window = 1h0m0s: a rule with a Calendar has none":                    {Window: time.Hour, Calendar: Calendar{Unit: Day}},
		"Algorithm = SlidingWindow: a rule with a Calendar has a FixedWindow": {Algorithm: SlidingWindow, Calendar: Calendar{Unit: Day}},
		"Calendar.Unit = Unit(0): want Day, Week, Month or Year":              {Calendar: Calendar{Zone: "Europe/Berlin"}},
		"Calendar.Zone = Berlin: unknown time zone Berlin":                    {Calendar: Calendar{Unit: Day, Zone: "Berlin"}},
		"Calendar.StartsOn = 32: must be 1 to 31 for a Month":                 {Calendar: Calendar{Unit: Month, StartsOn: 32}},
		"Window = 0s: must be 100ms to 8784h0m0s":                             {},
		"Warn = 80: must be 0 to 1":                                           {Window: time.Hour, Warn: 80},
		"Warn = NaN: must be 0 to 1":                                          {Window: time.Hour, Warn: math.NaN()},
	} {
		r.Name, r.Quota = "user", 1
		_, err := r.New(new(Limiter))
		require.EqualError(t, err, "limit: Rule user: "+want)
	}
}

// TestCalendarShare: while Redis is away, a process has its share of a period's quota, as in 30 days for a month.
func TestCalendarShare(t *testing.T) {
	t.Parallel()
	l := newLocal(2)
	r := &Rule{Quota: 60, Calendar: Calendar{Unit: Month}}
	now := time.Now()
	allowed := 0
	for ; l.take(r, "k", 1, now) != nil; allowed++ {
	}
	require.Equal(t, 30, allowed)
	require.Nil(t, l.take(r, "k", 1, now.Add(23*time.Hour)))
	require.NotNil(t, l.take(r, "k", 1, now.Add(25*time.Hour)))
}
