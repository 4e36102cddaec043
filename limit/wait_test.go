package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// TestWaitSharesABucket: eight limiters with 25 callers each use a bucket of 100 tokens a second: never more
// are used, hardly a token is lost, nobody waits for much longer than the others, and a command is for many.
func TestWaitSharesABucket(t *testing.T) {
	const limiters, callers, quota, burst, lasts = 8, 25, 100, 5, 4 * time.Second
	addrs := servers.StartCluster(t, servers.Options{Primaries: 1}).Addrs()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var mu sync.Mutex
	var granted []time.Time
	var longest time.Duration
	var wg sync.WaitGroup
	count := new(takes)
	began := time.Now()
	for range limiters {
		l := limiterAt(t, cluster.Config{}, Config{Prefix: t.Name(), Budget: 10 * time.Second, Observer: count}, addrs)
		of, err := Rule{Name: "w", Quota: quota, Burst: burst, Window: time.Second, Algorithm: TokenBucket}.New(l)
		require.NoError(t, err)
		for range callers {
			wg.Go(func() {
				for {
					asked := time.Now()
					if l.Wait(ctx, Request{Limit: of, Key: "k"}) != nil {
						return
					}
					mu.Lock()
					granted, longest = append(granted, time.Now()), max(longest, time.Since(asked))
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	slices.SortFunc(granted, time.Time.Compare)
	for i, at := range granted { // a goroutine may run late, but not early
		require.LessOrEqual(t, float64(i+1), burst+quota*at.Sub(began).Seconds(), "after %v", at.Sub(began))
	}
	t.Logf("%d granted, longest wait %v, %d commands", len(granted), longest, count.Load())
	require.Greater(t, len(granted), quota*int(lasts/time.Second)*8/10)
	require.Less(t, longest, 2*limiters*callers*time.Second/quota, "ideal is half of it")
	require.LessOrEqual(t, count.Load(), int64(len(granted))/10)
}

// takes counts how often hits were counted.
type takes struct{ atomic.Int64 }

func (*takes) Decided(time.Duration, []Request, Result) {}

func (c *takes) Hits(_ *Limit, what string, _ int64) {
	if what == hitsCounted {
		c.Add(1)
	}
}

// TestWaitSaysHowLong: a wait that cannot end in time fails at once.
func TestWaitSaysHowLong(t *testing.T) {
	l := limiterAt(t, cluster.Config{}, patient, servers.StartCluster(t, servers.Options{Primaries: 1}).Addrs())
	for _, a := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		of, err := Rule{Name: "w", Quota: 2, Window: time.Hour, Algorithm: a}.New(l)
		require.NoError(t, err)
		require.NoError(t, l.Wait(t.Context(), Request{Limit: of, Key: a.String(), Cost: 2}))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err = l.Wait(ctx, Request{Limit: of, Key: a.String()})
		var late *WaitError
		require.ErrorAs(t, err, &late)
		require.Greater(t, late.After, 20*time.Second)
		require.NoError(t, ctx.Err())
		require.EqualValues(t, 0, l.Allow(t.Context(), Request{Limit: of, Key: a.String(), Look: true}).Remaining, "nothing was given back that was not taken")
	}
}

// TestWaitEnds: with the context, and with the limiter.
func TestWaitEnds(t *testing.T) {
	l := limiterAt(t, cluster.Config{}, patient, servers.StartCluster(t, servers.Options{Primaries: 1}).Addrs())
	of, err := Rule{Name: "w", Quota: 1, Window: time.Hour}.New(l)
	require.NoError(t, err)
	require.NoError(t, l.Wait(t.Context(), Request{Limit: of, Key: "k"}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Wait(ctx, Request{Limit: of, Key: "k"}) }()
	go func() { ended <- l.Wait(t.Context(), Request{Limit: of, Key: "k"}) }()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-ended, errClosed)
	require.True(t, errors.Is(l.Wait(t.Context(), Request{Limit: of, Key: "k"}), errClosed))
}

// TestWaitersShareAQueue: also those that come when the clock was set back.
func TestWaitersShareAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		request := Request{Limit: l.must(t, Rule{Name: "user", Quota: 10, Window: time.Minute}), Key: "k"}
		require.True(t, l.Allow(t.Context(), request).Allowed)
		var counts []*count
		for _, ahead := range []time.Duration{0, -time.Hour, time.Hour} {
			now := time.Now()
			l.servers.known.Store(&reading{local: now, server: now.Add(ahead)})
			w, err := l.waiter(t.Context(), &request)
			require.NoError(t, err)
			counts = append(counts, w.count)
			l.inside.Leave()
		}
		require.Same(t, counts[0], counts[1])
		require.Same(t, counts[0], counts[2])
	})
}
