package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/fake"
	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const ms = time.Millisecond

// step returns a step that nothing disturbs.
func step(rate int, warmUp, measured time.Duration, send func(context.Context, int) (bool, error)) Step {
	return Step{
		Rate: rate, WarmUp: warmUp, For: measured, Outstanding: 1_000_000, Timeout: time.Hour,
		Key: func() int { return 0 }, Send: send,
	}
}

// served is what a service of a known capacity makes of requests, without a
// network.
func served(workers int, takes time.Duration) func(context.Context, int) (bool, error) {
	s := fake.New(workers, takes)
	return func(ctx context.Context, _ int) (bool, error) { return false, s.Wait(ctx) }
}

// equal holds a latency to what it must be but for the three digits of histograms.
func equal(t *testing.T, want, got time.Duration) {
	t.Helper()
	require.InEpsilon(t, float64(want), float64(got), 0.001)
}

// latency returns what so many percent of the successes do not exceed, and lateness the same of how late requests
// were sent.
func latency(r *Result, percent float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(percent))
}

func lateness(r *Result) time.Duration { return time.Duration(r.Late.Max()) }

// TestSchedule: each request is sent at the time when it is due, also at a rate
// that does not divide a second.
func TestSchedule(t *testing.T) {
	for _, rate := range []int{1, 300, 1000, 2999} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var at []time.Duration
			began := time.Now()
			r := step(rate, time.Second, 2*time.Second, func(context.Context, int) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(began))
				return false, nil
			}).Run(t.Context())
			require.Len(t, at, 3*rate)
			for i, d := range at {
				require.Equal(t, time.Duration(i)*time.Second/time.Duration(rate), d)
			}
			require.EqualValues(t, 2*rate, r.Successes)
			require.InDelta(t, rate, r.Rate(), 1e-9)
			require.Zero(t, r.Failed())
			require.Equal(t, time.Nanosecond, lateness(r))
			require.False(t, r.Interrupted)
		})
	}
}

// TestWithinCapacity: the latency is what the service takes.
func TestWithinCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := step(500, time.Second, 4*time.Second, served(10, 8*ms)).Run(t.Context())
		require.EqualValues(t, 2000, r.Successes)
		require.InDelta(t, 500, r.Rate(), 1)
		equal(t, 8*ms, latency(r, 50))
		equal(t, 8*ms, latency(r, 100))
	})
}

// TestOverload: requests that wait for a service which is too slow by half wait
// longer and longer, and all of that is their latency.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := step(200, 0, time.Second, served(1, 10*ms)).Run(t.Context())
		require.EqualValues(t, 200, r.Successes)
		require.InDelta(t, 100, r.Rate(), 1, "half of them are answered only after the measured time")
		// Request i is due at 5i ms and answered at 10(i+1) ms.
		equal(t, (5*100+10)*ms, latency(r, 50.5))
		equal(t, (5*199+10)*ms, latency(r, 100))
	})
}

// TestLatencyCountsFromWhenARequestWasDue: a driver that comes too late to send
// does not make the service look faster.
func TestLatencyCountsFromWhenARequestWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(100, 0, time.Second, served(1000, 1*ms))
		drawn := 0
		s.Key = func() int {
			if drawn++; drawn == 51 { // that is due at 500 ms
				time.Sleep(205 * ms)
			}
			return 0
		}
		r := s.Run(t.Context())
		require.EqualValues(t, 100, r.Successes)
		equal(t, 1*ms, latency(r, 50))
		equal(t, 206*ms, latency(r, 100))
		equal(t, 205*ms, lateness(r))
		equal(t, (205-10*20+1)*ms, latency(r, 80)) // the last of the 21 that came late: due at 700 ms
	})
}

// TestOutstanding: what is due while too many are under way fails at once.
func TestOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(100, 0, time.Second, served(1000, 95*ms))
		s.Outstanding = 5
		r := s.Run(t.Context())
		// In each 100 ms the first five are sent.
		require.EqualValues(t, 50, r.Successes)
		require.Equal(t, map[string]Failure{"not sent": {50, errNotSent.Error()}}, r.Failures)
		require.Equal(t, 5, r.MostOutstanding)
		equal(t, 95*ms, latency(r, 100))
		require.EqualValues(t, 50, r.Late.TotalCount(), "what was not sent was not sent late")
	})
}

// TestTimeout counts from when a request was due.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(10, 0, time.Second, func(ctx context.Context, _ int) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		})
		s.Timeout = 300 * ms
		began := time.Now()
		r := s.Run(t.Context())
		require.Equal(t, 900*ms+300*ms, time.Since(began))
		require.Equal(t, map[string]Failure{"DeadlineExceeded": {10, context.DeadlineExceeded.Error()}}, r.Failures)
		require.Zero(t, latency(r, 99))
		require.Zero(t, r.Rate())
	})
}

// TestWarmUp: what is due in it counts nowhere, however it ends.
func TestWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := step(100, time.Second, time.Second, func(context.Context, int) (bool, error) {
			if time.Since(began) < time.Second {
				return false, errors.New("not yet")
			}
			return true, nil
		}).Run(t.Context())
		require.EqualValues(t, 100, r.Successes)
		require.EqualValues(t, 100, r.Denied)
		require.Zero(t, r.Failed())
	})
}

// TestInterrupted: what was measured until then counts, and what is under way
// does not.
func TestInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		after, took time.Duration
		requests    int64
	}{
		"while measuring":    {1505 * ms, 505 * ms, 50}, // of 51, one is under way
		"during the warm-up": {505 * ms, 0, 0},
		"at the end":         {2995 * ms, 1990 * ms, 199},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(c.after, cancel)
				r := step(100, time.Second, 2*time.Second, func(ctx context.Context, _ int) (bool, error) {
					select {
					case <-time.After(8 * ms):
						return false, nil
					case <-ctx.Done():
						return false, ctx.Err()
					}
				}).Run(ctx)
				require.True(t, r.Interrupted)
				require.Equal(t, c.took, r.Took)
				require.Equal(t, c.requests, r.Successes)
				require.Zero(t, r.Failed())
			})
		})
	}
}

// TestUsed: what a part has used is told of the measured time alone.
func TestUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := step(100, time.Second, 2*time.Second, served(1000, 5*ms))
		s.Used = func() map[string]time.Duration {
			return map[string]time.Duration{"two cores": 2 * time.Since(began), "rests since then": min(time.Second, time.Since(began))}
		}
		require.Equal(t, map[string]float64{"two cores": 2, "rests since then": 0}, s.Run(t.Context()).Cores)
	})
}

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
