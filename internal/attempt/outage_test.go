package attempt

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMayRetry is the rule.
func TestMayRetry(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		lasted, window time.Duration
		want           bool
	}{
		{0, time.Second, true}, {time.Second - 1, time.Second, true}, {time.Second, time.Second, false},
		{time.Hour, time.Second, false}, {0, -1, false}, {time.Hour, -1, false},
		{-time.Millisecond, -1, false}, {-time.Millisecond, time.Second, true},
		{0, Forever, true}, {1000 * time.Hour, Forever, true}, {-time.Millisecond, Forever, true},
	} {
		for _, left := range []time.Duration{0, time.Second - 1, time.Second, math.MaxInt64} {
			began := now.Add(-c.lasted)
			lasted := max(0, c.lasted)
			require.Equal(t, lasted, Outage{Since: began}.Lasted(now))
			require.Equal(t, c.window-lasted, Outage{Since: began}.Left(now, c.window))
			got := Outage{Since: began}.MayRetry(now, left, c.window)
			require.Equal(t, c.want, got, fmt.Sprint(c))
			got = Outage{Since: began, Silent: true}.MayRetry(now, left, c.window)
			long := left >= time.Second || c.window == Forever
			require.Equal(t, c.want && long, got, fmt.Sprint("silent ", c, left))
		}
	}
}

// TestBackoff: full jitter, doubled for each try, bounded, and within what
// is left of the window.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 7, 8, 9, 22, 70} {
		for _, left := range []time.Duration{-time.Second, 0, time.Millisecond, 50 * time.Millisecond, Forever} {
			limit := min(minBackoff<<min(n-1, 20), MaxBackoff, max(left, minBackoff))
			longest := time.Duration(0)
			for range 200 {
				d := Backoff(n, left)
				if d <= 0 || d > limit {
					t.Fatalf("%v with a limit of %v", d, limit)
				}
				longest = max(longest, d)
			}
			require.Greater(t, longest, limit/2, "the jitter must use the whole range")
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		outage  Outage
		replica bool
		want    Step
	}{
		"within the window":            {Outage{Since: now.Add(-time.Second / 2)}, false, Retry},
		"after the window":             {Outage{Since: now.Add(-time.Second)}, false, Stands},
		"silent, and little time left": {Outage{Since: now, Silent: true}, false, Stands},
		"a replica":                    {Outage{Since: now, Silent: true}, true, OtherReplica},
		"a replica, after the window":  {Outage{Since: now.Add(-time.Hour)}, true, OtherReplica},
	} {
		require.Equal(t, test.want, test.outage.Next(test.replica, now, time.Second/2, time.Second), name)
	}
}
