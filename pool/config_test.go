package pool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/lanes"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config    Config
		inCluster bool
		min, max  int
	}{
		{Fixed{}, false, 10, 10},
		{Fixed{}, true, 50, 50},
		{Fixed{Size: 7}, true, 7, 7},
		{Fixed{Size: 7}, false, 7, 7},
		{Adaptive{}, false, 1, 10},
		{Adaptive{Min: 30}, false, 30, 30},
		{Adaptive{}, true, 1, 50},
		{Adaptive{Max: 3}, true, 1, 3},
		{Adaptive{Min: 80}, true, 80, 80},
		{Laned{}, true, 4, 4},
		{Adaptive{Min: 80}, false, 80, 80},
		{Adaptive{Min: 2, Max: 5}, false, 2, 5},
		{Laned{}, false, 4, 4},
		{Laned{Lanes: 16}, false, 16, 16},
	} {
		set, err := c.config.settings()
		require.NoError(t, err)
		s := set.WithDefaults(c.inCluster)
		again := s.WithDefaults(!c.inCluster)
		s.Strategy, again.Strategy = nil, nil
		require.Equal(t, s, again, "once is enough")
		require.Equal(t, []int{c.min, c.max}, []int{s.Min, s.Max}, "%+v", c.config)
		require.Positive(t, s.MaxWaiters)
		require.Positive(t, s.StallTimeout)
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config Config
		want   string
	}{
		{nil, "pool: the Config is nil: pass Fixed{}, Adaptive{} or Laned{}"},
		{(*Laned)(nil), "pool: the Config is a nil *pool.Laned: pass Fixed{}, Adaptive{} or Laned{}"},
		{Fixed{Size: -3}, "Fixed.Size = -3"},
		{Adaptive{Min: -1}, "Adaptive.Min = -1"},
		{Adaptive{Max: -1}, "Adaptive.Max = -1"},
		{Adaptive{Min: 9, Max: 8}, "Adaptive.Min = 9 is more than Max = 8"},
		{Adaptive{IdleTimeout: -time.Second}, "Adaptive.IdleTimeout = -1s"},
		{Laned{Lanes: -1}, "Laned.Lanes = -1"},
		{Fixed{Options: Options{MaxAge: time.Second - 1}}, "Fixed.MaxAge = 999.999999ms: must be at least 1s"},
		{Laned{Options: Options{MaxAge: -1}}, "Laned.MaxAge = -1ns: must be at least 1s"},
		{Laned{MaxInFlight: -1}, "Laned.MaxInFlight = -1"},
		{Laned{MaxDedicated: -1}, "Laned.MaxDedicated = -1"},
		{Laned{SlowLanes: 1025}, "Laned.SlowLanes = 1025: must be at most 1024"},
		{Fixed{Size: 1e9}, "Fixed.Size = 1000000000: must be at most 65536"},
		{Adaptive{Min: 1e9, Max: 2e9}, "Adaptive.Min = 1000000000: must be at most 65536"},
		{Adaptive{Max: 1e9}, "Adaptive.Max = 1000000000: must be at most 65536"},
		{Laned{Lanes: 1e9}, "Laned.Lanes = 1000000000: must be at most 1024"},
		{Laned{SlowLanes: 1e9}, "Laned.SlowLanes = 1000000000: must be at most 1024"},
		{Laned{MaxDedicated: 65537}, "Laned.MaxDedicated = 65537: must be at most 65536"},
		{Laned{MaxInFlight: 1e9}, "Laned.MaxInFlight = 1000000000: must be at most 1048576"},
		{Fixed{Options: Options{MaxWaiters: 1e9}}, "Fixed.MaxWaiters = 1000000000: must be at most 1048576"},
		{Fixed{Options: Options{StallTimeout: -1}}, "Fixed.StallTimeout = -1ns"},
		{Adaptive{IdleTimeout: 30}, "Adaptive.IdleTimeout = 30ns: must be at least 1ms"},
		{Laned{Options: Options{StallTimeout: 1}}, "Laned.StallTimeout = 1ns: must be at least 10ms"},
		{Fixed{Options: Options{SuspectAfter: 10*time.Millisecond - 1}}, "Fixed.SuspectAfter = 9.999999ms: must be at least 10ms"},
		{Fixed{Options: Options{SuspectAfter: 4 * time.Second}}, "Fixed.StallTimeout = 3s: must be at least SuspectAfter, which is 4s: raise it, or lower SuspectAfter"},
	} {
		_, err := settingsOf(c.config)
		require.ErrorContains(t, err, c.want)
	}
}

// TestSettings: what a user sets is what the pool is given.
func TestSettings(t *testing.T) {
	t.Parallel()
	o := Options{MaxWaiters: 1, SuspectAfter: time.Second, StallTimeout: 2 * time.Second, MaxAge: 4 * time.Second}
	same := nodepool.Settings{MaxWaiters: 1, SuspectAfter: time.Second, StallTimeout: 2 * time.Second, MaxAge: 4 * time.Second}
	fixed, adaptive, laned := same, same, same
	fixed.Kind, fixed.Max = nodepool.KindFixed, 7
	adaptive.Kind, adaptive.Min, adaptive.Max, adaptive.IdleTimeout = nodepool.KindAdaptive, 8, 9, 10*time.Second
	laned.Kind, laned.Max = nodepool.KindLaned, 12
	laned.SlowLanes, laned.MaxInFlight, laned.MaxDedicated = 14, 15, 17
	for _, c := range []struct {
		set  Config
		want nodepool.Settings
	}{
		{Fixed{Size: 7, Options: o}, fixed},
		{Adaptive{Min: 8, Max: 9, IdleTimeout: 10 * time.Second, Options: o}, adaptive},
		{&Laned{Lanes: 12, SlowLanes: 14, MaxInFlight: 15, MaxDedicated: 17, Options: o}, laned},
		{Fixed{Options: Options{MaxWaiters: -1}}, nodepool.Settings{Kind: nodepool.KindFixed, FailFast: true}},
		{Laned{SlowLanes: -1}, nodepool.Settings{Kind: nodepool.KindLaned, SlowLanes: -1}},
	} {
		got, err := nodepool.Of(c.set)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	given, err := nodepool.Of(Laned{Strategy: lanes.RoundRobin})
	require.NoError(t, err)
	require.NotNil(t, given.Strategy)
}
