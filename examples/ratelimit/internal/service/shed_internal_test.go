package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit"
)

// TestShedderUnderOverload: in front of a server that can do 10,000 requests a second,
// of which a hundred clients would have more, most of that is used, and requests
// take hardly longer than without load.
func TestShedderUnderOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			places   = 20 // requests that the server works on at a time
			takes    = 2 * time.Millisecond
			capacity = float64(places) / (float64(takes) / float64(time.Second))
		)
		s := NewShedder(ShedConfig{Min: 4, Max: 1000, Initial: 50}, prometheus.NewRegistry())
		server := make(chan struct{}, places)
		// load returns how many requests were answered in a second, and after how long.
		load := func(clients int, lasting time.Duration) (rate float64, mean time.Duration) {
			var all sync.WaitGroup
			var answered, nanoseconds atomic.Int64
			for range clients {
				all.Go(func() {
					for end := time.Now().Add(lasting); time.Now().Before(end); {
						began := time.Now()
						p, ok := s.enter()
						if !ok {
							time.Sleep(takes)
							continue
						}
						server <- struct{}{}
						time.Sleep(takes)
						<-server
						p.leave(true)
						answered.Add(1)
						nanoseconds.Add(int64(time.Since(began)))
					}
				})
			}
			all.Wait()
			n := max(1, answered.Load())
			return float64(n) / lasting.Seconds(), time.Duration(nanoseconds.Load() / n)
		}
		rate, mean := load(places/2, 2*time.Second)
		t.Logf("half of the load: %.0f/s, %v", rate, mean)
		for range 2 {
			rate, mean = load(5*places, 3*time.Second)
			t.Logf("five times the load: %.0f %% of the capacity, %v, at most %d", 100*rate/capacity, mean, s.limiter.Limit())
		}
		require.Greater(t, rate, 0.75*capacity)
		require.Less(t, mean, 3*takes/2, "five times as long without shedding")
	})
}

func TestOneTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    limit.Decision
		want bool
	}{
		{limit.Decision{Allowed: true}, true},
		{limit.Decision{Allowed: true, Leased: true}, false},
		{limit.Decision{RetryAfter: time.Second}, false},
		{limit.Decision{RetryAfter: time.Second, Near: true}, false},
		{limit.Decision{Allowed: true, Err: redislanes.ErrDown}, false},
		{limit.Decision{Err: errors.Join(redislanes.ErrUnknownOutcome, context.DeadlineExceeded)}, true},
	} {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, c.want && c.d.Err == nil, oneTrip(gone, decision{Decision: c.d, each: []limit.Decision{c.d}}))
		require.Equal(t, c.want, oneTrip(t.Context(), decision{Decision: c.d, each: []limit.Decision{c.d}}))
	}
}
