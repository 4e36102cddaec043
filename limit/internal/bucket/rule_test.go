package bucket

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRemainingAndRetryAfter(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	ten := NewRule(10, 20, time.Second)
	for _, c := range []struct {
		rule      *Rule
		full      time.Duration
		remaining int64
		cost      int64
		retry     time.Duration
	}{
		{ten, 0, 20, 20, 0},
		{ten, 0, 20, 21, 100 * time.Millisecond},
		{ten, 1, 20, 20, 0},
		{ten, time.Microsecond, 19, 20, time.Microsecond},
		{ten, 500 * time.Millisecond, 15, 15, 0},
		{ten, 500*time.Millisecond + 1, 15, 15, 0},
		{ten, 501 * time.Millisecond, 14, 15, time.Millisecond},
		{ten, 2 * time.Second, 0, 1, 100 * time.Millisecond},
		{ten, 2*time.Second - time.Nanosecond, 0, 1, 100 * time.Millisecond},
		{ten, 3 * time.Second, -10, 1, 1100 * time.Millisecond},
		{ten, math.MaxInt64, -92233720349, math.MaxInt64, math.MaxInt64},
		{NewRule(3, 3, time.Second), 333_333_334, 2, 2, 0},
		{NewRule(3, 3, time.Second), 333_333_334, 2, 3, 333_334 * time.Microsecond},
		{NewRule(1e9, 1e9, time.Second), 1000, 1e9 - 1000, 1e9 - 1000, 0},
		{NewRule(1e9, 1e9, time.Second), 1000, 1e9 - 1000, 1e9, time.Microsecond},
		{NewRule(1e9, 1e9, 100*time.Millisecond), 1, 1e9 - 10, 1e9 - 10, 0},
		{NewRule(1, 100, year), 0, 100, 100, 0},
		{NewRule(1, 100, year), year, 99, 99, 0},
		{NewRule(1, 100, year), 99*year + 1, 1, 2, year},
	} {
		require.Equal(t, c.remaining, c.rule.Remaining(c.full), "%+v", c)
		require.Equal(t, c.retry, c.rule.RetryAfter(c.full, c.cost), "%+v", c)
	}
}
