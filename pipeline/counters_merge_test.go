package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestHitsGather: what comes while a sum is out travels as one command, and
// each gets its own total and the longest time to live. Totals in between must not
// overflow, so that plus and minus do not travel together.
func TestHitsGather(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hits   []pipeline.Hit
		totals []int64
		sums   int           // behind the first
		ttl    time.Duration // which the key has then
	}{
		"plus": {[]pipeline.Hit{
			{Key: "k", By: 10, TTL: time.Minute}, {Key: "k", By: 0}, {Key: "k", By: 5, TTL: time.Hour}, {Key: "k", By: 100, TTL: time.Second},
		}, []int64{11, 11, 16, 116}, 1, time.Hour},
		"plus and minus": {[]pipeline.Hit{
			{Key: "k", By: math.MaxInt64 - 1}, {Key: "k", By: -5}, {Key: "k", By: 3}, {Key: "k", By: -1},
		}, []int64{math.MaxInt64, math.MaxInt64 - 5, math.MaxInt64 - 2, math.MaxInt64 - 3}, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newTower(t, 1, pipeline.CountersConfig{})
				before := w.Calls(0, "INCRBY")
				first, flow := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
				others := w.gather(t, c.hits)
				flow()
				require.NoError(t, <-first)
				for i, want := range c.totals {
					require.NoError(t, <-others[i])
					require.Equal(t, want, c.hits[i].Total)
				}
				require.Equal(t, 1+c.sums, w.Calls(0, "INCRBY")-before)
				require.Equal(t, c.ttl > 0, w.Calls(0, "EXPIRE") == 1)
				require.Equal(t, c.ttl, w.ttl("k"))
			})
		})
	}
}

// TestHitsBesideEachOther: a few sums of one key are out at a time, while each has
// one hit. What comes then gathers.
func TestHitsBesideEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const beside, all = 8, 11
		w := newTower(t, 1, pipeline.CountersConfig{})
		before := w.Calls(0, "INCRBY")
		flow := w.stall(0, toClient)
		hits := make([]pipeline.Hit, all)
		var done []chan error
		for i := range hits {
			hits[i] = pipeline.Hit{Key: "k", By: 1, TTL: time.Hour}
			done = append(done, w.hit(within(t, 20*time.Second), &hits[i]))
			if i < beside {
				require.Equal(t, before+i+1, w.Calls(0, "INCRBY"))
			} else {
				require.Equal(t, i+1-beside, w.counters.Waiting("k"))
			}
		}
		flow()
		for i := range hits {
			require.NoError(t, <-done[i])
			require.EqualValues(t, i+1, hits[i].Total)
		}
		require.Equal(t, before+beside+1, w.Calls(0, "INCRBY"))
	})
}

// TestHitsThatOverflow: if a sum overflows, no hit in it is counted, and all are told so.
func TestHitsThatOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		w.do(t, "SET", "k", fmt.Sprint(int64(math.MaxInt64-11)))
		first, flow := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
		hits := []pipeline.Hit{{Key: "k", By: 4}, {Key: "k", By: 20}, {Key: "k", By: 5}, {Key: "k", By: 2}}
		others := w.gather(t, hits)
		flow()
		require.NoError(t, <-first)
		for i := range hits {
			require.ErrorContains(t, <-others[i], "overflow")
			require.Zero(t, hits[i].Total)
		}
		value, _ := w.Value("k")
		require.Equal(t, fmt.Sprint(int64(math.MaxInt64-10)), value)
	})
}

// TestLeavingASum: who leaves while its hit gathers takes it back; who leaves
// while it is under way does not disturb the others, and is told that it is
// unknown.
func TestLeavingASum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		first, flow := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
		hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 200}}
		others := w.gather(t, hits[:1])
		ctx, cancel := context.WithCancel(t.Context())
		gone := pipeline.Hit{Key: "k", By: 3000}
		left := w.hit(ctx, &gone)
		require.Equal(t, 2, w.counters.Waiting("k"))
		cancel()
		err := <-left
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, gone.Err, redislanes.ErrNotSent)
		require.NotErrorIs(t, gone.Err, redislanes.ErrUnknownOutcome)
		require.Equal(t, 1, w.counters.Waiting("k"))

		// One that leaves with its sum, and one that shares it.
		ctx, cancel = context.WithCancel(t.Context())
		late := pipeline.Hit{Key: "k", By: 40_000}
		left = w.hit(ctx, &late)
		require.Equal(t, 2, w.counters.Waiting("k"))
		others = append(others, w.gather(t, hits[1:])...)
		arrive := w.stall(0, toServer) // so that the next sum leaves and does not arrive
		flow()
		require.NoError(t, <-first)
		synctest.Wait()
		require.Zero(t, w.counters.Waiting("k"))
		cancel()
		require.ErrorIs(t, <-left, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, late.Err, redislanes.ErrUnknownOutcome)
		require.NotErrorIs(t, late.Err, redislanes.ErrNotSent)
		arrive()
		for _, done := range others {
			require.NoError(t, <-done)
		}
		require.Equal(t, []int64{11, 40_211}, []int64{hits[0].Total, hits[1].Total}, "it was counted all the same")
	})
}

// TestValuesOfAnEndlessContext: a Trace sees the values of the caller's context, such as the span
// that called, also if the context has no end. A hit that waits is withdrawn by Close.
func TestValuesOfAnEndlessContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		type key struct{}
		var seen []any
		trace := &redislanes.Trace{BeginRequest: func(ctx context.Context, _ redislanes.RequestStart) context.Context {
			child, cancel := context.WithCancel(ctx) // ends with it
			defer cancel()
			seen = append(seen, child.Value(key{}))
			return ctx
		}}
		patient := pool.Laned{Options: pool.Options{StallTimeout: time.Minute}}
		client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, Pool: patient, Trace: trace}, []string{w.Nodes()[0].Addr()})
		w.counters = pipeline.CountersConfig{}.New(client)
		ended, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, 3), time.Second)
		defer cancel()
		for _, ctx := range []context.Context{
			context.WithValue(context.Background(), key{}, 1), context.WithValue(context.WithoutCancel(ended), key{}, 2), context.WithoutCancel(ended), ended, context.Background(),
		} {
			require.NoError(t, w.counters.Hit(ctx, []pipeline.Hit{{Key: "k", By: 1}}))
		}
		require.Equal(t, []any{1, 2, 3, 3, nil}, seen)

		flow := w.stall(0, toClient)
		first := w.lead(within(t, time.Minute), &pipeline.Hit{Key: "k", By: 1})
		waits := w.hit(context.WithoutCancel(ended), &pipeline.Hit{Key: "k", By: 1})
		go func() { _ = w.counters.Close() }()
		err := <-waits
		require.ErrorIs(t, err, redislanes.ErrClosed)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		flow()
		require.NoError(t, <-first)
	})
}

// TestOwnSumAtTheDeadline: the caller that sends a sum itself leaves at
// its deadline, and those who wait behind it are served.
func TestOwnSumAtTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		flow := w.stall(0, toClient)
		ctx, cancel := context.WithCancel(t.Context())
		own := pipeline.Hit{Key: "k", By: 1}
		left := w.lead(ctx, &own)
		require.Equal(t, 2, w.Calls(0, "INCRBY"))
		hits := []pipeline.Hit{{Key: "k", By: 10}}
		others := w.gather(t, hits)
		cancel()
		require.ErrorIs(t, <-left, redislanes.ErrUnknownOutcome)
		flow()
		require.NoError(t, <-others[0])
		require.EqualValues(t, 11, hits[0].Total)
	})
}

// TestHitsPassALateSum: a hit waits until its deadline for a sum of callers with more time. Later hits do
// not wait for that sum, until eight are under way.
func TestHitsPassALateSum(t *testing.T) {
	t.Parallel()
	for name, merged := range map[string]bool{"of a call": false, "of several calls": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newTower(t, 1, pipeline.CountersConfig{})
				brief := 25 * time.Millisecond
				var long []chan error
				lead := pipeline.Hit{Key: "k", By: 1}
				flow := w.stall(0, toClient)
				long = append(long, w.lead(within(t, 20*time.Second), &lead))
				if merged {
					long = append(long, w.gather(t, []pipeline.Hit{{Key: "k", By: 1}, {Key: "k", By: 1}})...)
					flowToo := w.stall(0, toServer)
					flow()
					require.NoError(t, <-long[0])
					flow, long = flowToo, long[1:]
					synctest.Wait()
				}
				counted := int64(len(long))
				if merged {
					counted++ // the first one, which has its reply
				}

				first := pipeline.Hit{Key: "k", By: 1}
				behind := w.gather(t, []pipeline.Hit{{Key: "k", By: 1}}) // with much time, behind the late sum
				require.ErrorIs(t, <-w.hit(within(t, brief), &first), redislanes.ErrNotSent)
				require.ErrorIs(t, first.Err, context.DeadlineExceeded)
				synctest.Wait()
				require.Zero(t, w.counters.Waiting("k"), "it has left with a sum of its own")
				beside := make([]pipeline.Hit, 6)
				for i := range beside { // with the late sum and the one of behind, as many as may be under way
					beside[i] = pipeline.Hit{Key: "k", By: 1}
					behind = append(behind, w.hit(within(t, 20*time.Second), &beside[i]))
					require.Zero(t, w.counters.Waiting("k"))
				}
				behind = append(behind, w.gather(t, []pipeline.Hit{{Key: "k", By: 1}})...)
				require.ErrorIs(t, <-w.hit(within(t, brief), &first), redislanes.ErrNotSent)
				synctest.Wait()
				require.Equal(t, 1, w.counters.Waiting("k"), "enough have passed")
				flow()
				for _, done := range append(long, behind...) {
					require.NoError(t, <-done)
				}
				require.Equal(t, counted+int64(len(behind))+1, w.hitOnce(t, "k", 1, 0))
				synctest.Wait()
				require.Zero(t, w.counters.Waiting("k"))
			})
		})
	}
}
