package setting

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		value, most time.Duration
		negative    bool // means none
		want        string
	}{
		{0, 0, false, ""},
		{Least, 0, false, ""},
		{time.Hour, 0, false, ""},
		{time.Hour, time.Hour, false, ""},
		{time.Hour + 1, time.Hour, false, "limit: Config.Budget = 1h0m0.000000001s: must be 1ms to 1h0m0s"},
		{Least - 1, 0, false, "limit: Config.Budget = 999.999µs: must be at least 1ms"},
		{100, 0, false, "limit: Config.Budget = 100ns: must be at least 1ms (a number without a unit counts nanoseconds: 100 * time.Millisecond is 100ms)"},
		{-1, 0, false, "limit: Config.Budget = -1ns: must be at least 1ms"},
		{-1, 0, true, ""},
		{Least / 2, time.Hour, true, "limit: Config.Budget = 500µs: must be 1ms to 1h0m0s, or negative for none"},
	} {
		err := Duration("limit: Config.Budget", c.value, Least, c.most, "")
		if c.negative {
			err = DurationOrNone("limit: Config.Budget", c.value, Least, c.most, "none")
		}
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}

func TestHintHasAUnitThatFits(t *testing.T) {
	err := Duration("pool: Laned.MaxAge", 60, time.Second, 0, "or 0 for none")
	require.EqualError(t, err, "pool: Laned.MaxAge = 60ns: must be at least 1s, or 0 for none (a number without a unit counts nanoseconds: 60 * time.Second is 1m0s)")
}
