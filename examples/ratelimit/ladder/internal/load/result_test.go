package load

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestKindOf(t *testing.T) {
	for want, err := range map[string]error{
		"not sent":         errNotSent,
		"no decision":      errUndecided,
		"no limit":         errNoLimit,
		"Unavailable":      status.Error(codes.Unavailable, "away"),
		"DeadlineExceeded": fmt.Errorf("late: %w", context.DeadlineExceeded),
		"other":            errors.New("else"),
	} {
		require.Equal(t, want, kindOf(err))
	}
	require.Equal(t, "DeadlineExceeded", kindOf(status.FromContextError(context.DeadlineExceeded).Err()))
}

// TestLongest: durations beyond the histograms' bounds are kept within them.
func TestLongest(t *testing.T) {
	r := newResult()
	now := time.Now()
	r.add(request{due: now, sent: now.Add(-time.Second), ended: now.Add(time.Hour)}, 1)
	require.InEpsilon(t, float64(longest), float64(latency(r, 50)), 0.001)
	require.Equal(t, time.Nanosecond, lateness(r))
}
