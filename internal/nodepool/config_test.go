package nodepool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config   Config
		min, max int
	}{
		{Fixed{}, 10, 10},
		{InCluster(Fixed{}), 50, 50},
		{InCluster(Fixed{Size: 7}), 7, 7},
		{Fixed{Size: 7}, 7, 7},
		{Adaptive{}, 1, 10},
		{Adaptive{Min: 30}, 30, 30},
		{InCluster(Adaptive{}), 1, 50},
		{InCluster(Adaptive{Max: 3}), 1, 3},
		{InCluster(Adaptive{Min: 80}), 80, 80},
		{InCluster(Laned{}), 4, 4},
		{Adaptive{Min: 80}, 80, 80},
		{Adaptive{Min: 2, Max: 5}, 2, 5},
		{Laned{}, 4, 4},
		{Laned{Lanes: 16}, 16, 16},
		{Laned{MaxLanes: 16}, 4, 16},
		{Laned{MaxLanes: 2}, 2, 2},
		{Laned{Lanes: 1, MaxLanes: 8}, 1, 8},
	} {
		s, err := c.config.settings()
		require.NoError(t, err)
		require.Equal(t, []int{c.min, c.max}, []int{s.min, s.max}, "%+v", c.config)
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
		{Fixed{Size: -3}, "Fixed.Size = -3"},
		{Adaptive{Min: -1}, "Adaptive.Min = -1"},
		{Adaptive{Max: -1}, "Adaptive.Max = -1"},
		{Adaptive{Min: 9, Max: 8}, "Adaptive.Min = 9 is more than Max = 8"},
		{Adaptive{IdleTimeout: -time.Second}, "Adaptive.IdleTimeout = -1s"},
		{Laned{Lanes: -1}, "Laned.Lanes = -1"},
		{Laned{MaxLanes: -1}, "Laned.MaxLanes = -1"},
		{Laned{Lanes: 9, MaxLanes: 8}, "Laned.Lanes = 9 is more than MaxLanes = 8"},
		{Laned{IdleTimeout: -time.Second}, "Laned.IdleTimeout = -1s"},
		{Laned{MaxInFlight: -1}, "Laned.MaxInFlight = -1"},
		{Laned{MaxLent: -1}, "Laned.MaxLent = -1"},
		{Laned{SlowLanes: -1}, "Laned.SlowLanes = -1"},
		{Laned{SlowLanes: 3, NoSlowLanes: true}, "Laned.SlowLanes = 3 although NoSlowLanes is set"},
		{Laned{Options: Options{MaxWaiters: -1}}, "Laned.MaxWaiters = -1"},
		{Fixed{Size: 1e9}, "Fixed.Size = 1000000000: must be at most 65536"},
		{Adaptive{Min: 1e9, Max: 2e9}, "Adaptive.Min = 1000000000: must be at most 65536"},
		{Adaptive{Max: 1e9}, "Adaptive.Max = 1000000000: must be at most 65536"},
		{Laned{Lanes: 1e9}, "Laned.Lanes = 1000000000: must be at most 1024"},
		{Laned{MaxLanes: 1025}, "Laned.MaxLanes = 1025: must be at most 1024"},
		{Laned{SlowLanes: 1e9}, "Laned.SlowLanes = 1000000000: must be at most 1024"},
		{Laned{MaxLent: 65537}, "Laned.MaxLent = 65537: must be at most 65536"},
		{Laned{MaxInFlight: 1e9}, "Laned.MaxInFlight = 1000000000: must be at most 1048576"},
		{Fixed{Options: Options{MaxWaiters: 1e9}}, "Fixed.MaxWaiters = 1000000000: must be at most 1048576"},
		{Fixed{Options: Options{StallTimeout: -1}}, "Fixed.StallTimeout = -1ns"},
		{Laned{Options: Options{StallTimeout: 1}}, "Laned.StallTimeout = 1ns: must be at least 16ms"},
		{Fixed{Options: Options{StallTimeout: 16*time.Millisecond - 1}}, "must be at least 16ms"},
		{Fixed{Options: Options{MinBackoff: time.Minute, MaxBackoff: time.Second}}, "Fixed.MinBackoff = 1m0s is more than MaxBackoff = 1s"},
	} {
		_, err := New(c.config, lanes.Dialer{}, "127.0.0.1:1", nil)
		require.ErrorContains(t, err, c.want)
		require.Error(t, Validate(c.config))
	}
	_, err := Dial(t.Context(), nil, lanes.Dialer{}, "127.0.0.1:1")
	require.ErrorContains(t, err, "the Config is nil")
	_, err = New(Fixed{}, lanes.Dialer{Protocol: 7}, "127.0.0.1:1", nil)
	require.ErrorContains(t, err, "Protocol = 7")
}

func TestNewRefusesAddressesWithPasswords(t *testing.T) {
	t.Parallel()
	_, err := New(Fixed{}, lanes.Dialer{}, "redis://:canary@h:1", nil)
	require.ErrorContains(t, err, "Dialer.Password")
	require.NotContains(t, err.Error(), "canary")
}
