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
	"github.com/redislanes/redislanes/pipeline"
)

// inTower runs the test in a bubble with a tower.
func inTower(t *testing.T, nodes int, c pipeline.CountersConfig, run func(t *testing.T, w *tower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, newTower(t, nodes, c)) })
}

// TestHitsGather: hits that wait travel as one INCRBY, and each gets its own total and the longest time to live.
// Totals in between must not overflow, so plus and minus do not travel together. If Redis refuses the INCRBY, none
// of its hits is counted.
func TestHitsGather(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string // what the key holds
		hits   []pipeline.Hit
		totals []int64 // none: all fail
		incrby int
		ttl    time.Duration // which the key has then
	}{
		"plus": {"0", []pipeline.Hit{
			{Key: "k", By: 10, TTL: time.Minute}, {Key: "k", Look: true}, {Key: "k", By: 5, TTL: time.Hour}, {Key: "k", TTL: time.Second},
		}, []int64{11, 11, 16, 17}, 1, time.Hour},
		"plus and minus": {"0", []pipeline.Hit{
			{Key: "k", By: 5}, {Key: "k", By: -5}, {Key: "k", By: 3}, {Key: "k", By: -1},
		}, []int64{6, 4 - 1 + 5 - 4, 9, 3}, 2, 0},
		"within 64 bits": {"-10", []pipeline.Hit{
			{Key: "k", By: math.MaxInt64 - 1}, {Key: "k", By: 2}, {Key: "k", By: 1},
		}, []int64{math.MaxInt64 - 10, math.MaxInt64 - 7, math.MaxInt64 - 9}, 2, 0},
		"overflow": {fmt.Sprint(int64(math.MaxInt64 - 11)), []pipeline.Hit{{Key: "k", By: 4}, {Key: "k", By: 20}, {Key: "k", By: 5}}, nil, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inTower(t, 1, pipeline.CountersConfig{}, func(t *testing.T, w *tower) {
				w.do(t, "SET", "k", c.before)
				first, flow := w.hold(t, &pipeline.Hit{Key: "k"})
				before := w.Calls(0, "INCRBY")
				others := w.gather(t, c.hits)
				flow()
				require.NoError(t, <-first)
				for i := range c.hits {
					if err := <-others[i]; c.totals == nil {
						require.ErrorContains(t, err, "overflow")
						require.Zero(t, c.hits[i].Total)
						continue
					}
					require.NoError(t, c.hits[i].Err)
					require.Equal(t, c.totals[i], c.hits[i].Total, i)
				}
				require.Equal(t, c.incrby, w.Calls(0, "INCRBY")-before)
				require.Equal(t, c.ttl, w.ttl("k"))
			})
		})
	}
}

// TestHitsTravelAlone: few callers do not wait for each other.
func TestHitsTravelAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ hits, calls int }{{1, alone}, {2, 4}} {
		inTower(t, 1, pipeline.CountersConfig{}, func(t *testing.T, w *tower) {
			before := w.Calls(0, "INCRBY")
			flow := w.stall(0, toClient)
			const more = 4
			var done []chan error
			for i := range c.calls + more {
				hits := make([]pipeline.Hit, c.hits)
				for j := range hits {
					hits[j].Key = "k"
				}
				done = append(done, w.call(within(t, 20*time.Second), new(pipeline.Hit), hits...))
				if i < c.calls {
					require.Equal(t, before+(i+1)*c.hits, w.Calls(0, "INCRBY"))
					require.Zero(t, w.counters.Waiting("k"))
				}
			}
			require.Positive(t, w.counters.Waiting("k"))
			flow()
			for _, done := range done {
				require.NoError(t, <-done)
			}
			require.EqualValues(t, len(done)*c.hits+1, w.hitOnce(t, "k", 1, 0))
		})
	}
}

// TestLeaving: a caller that leaves while its hit waits takes the hit and its time to live back. One that leaves while its hit is
// under way does not disturb the others, and is told that the outcome is unknown.
func TestLeaving(t *testing.T) {
	t.Parallel()
	inTower(t, 1, pipeline.CountersConfig{}, func(t *testing.T, w *tower) {
		first, flow := w.hold(t, &pipeline.Hit{Key: "k"})
		hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 200}}
		others := w.gather(t, hits[:1])
		ctx, cancel := context.WithCancel(t.Context())
		gone := pipeline.Hit{Key: "k", By: 3000, TTL: time.Hour}
		left := w.hit(ctx, &gone)
		require.Equal(t, 2, w.counters.Waiting("k"))
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		require.ErrorIs(t, gone.Err, redislanes.ErrNotSent)
		require.NotErrorIs(t, gone.Err, redislanes.ErrUnknownOutcome)
		require.Equal(t, 1, w.counters.Waiting("k"))

		// One that leaves while its INCRBY is under way, and one that shares it.
		ctx, cancel = context.WithCancel(t.Context())
		late := pipeline.Hit{Key: "k", By: 40_000}
		left = w.hit(ctx, &late)
		others = append(others, w.gather(t, hits[1:])...)
		arrive := w.stall(0, toServer) // so that the next INCRBY leaves and does not arrive
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
		require.Zero(t, w.ttl("k"), "nobody who stayed asked for a time to live")
	})
}

// TestHitsPassALateIncrby: a hit waits until its deadline for an INCRBY of callers with more time. The hits behind it
// then travel beside that INCRBY.
func TestHitsPassALateIncrby(t *testing.T) {
	t.Parallel()
	inTower(t, 1, pipeline.CountersConfig{}, func(t *testing.T, w *tower) {
		long, flow := w.hold(t, &pipeline.Hit{Key: "k"})
		behind := w.gather(t, []pipeline.Hit{{Key: "k"}}) // with much time
		before := w.Calls(0, "INCRBY")
		for _, brief := range []time.Duration{15 * time.Millisecond, 10 * time.Millisecond} {
			hit := pipeline.Hit{Key: "k"}
			require.Equal(t, before, w.Calls(0, "INCRBY"))
			require.ErrorIs(t, <-w.hit(within(t, brief), &hit), redislanes.ErrNotSent)
			require.ErrorIs(t, hit.Err, context.DeadlineExceeded)
			synctest.Wait()
		}
		require.Equal(t, before+1, w.Calls(0, "INCRBY"), "the hit that waited has left")
		require.Zero(t, w.counters.Waiting("k"))
		behind = append(behind, w.gather(t, []pipeline.Hit{{Key: "k"}})...)
		flow()
		for _, done := range append(behind, long) {
			require.NoError(t, <-done)
		}
		synctest.Wait()
		require.EqualValues(t, 4, w.hitOnce(t, "k", 1, 0))
		require.Zero(t, w.counters.Waiting("k"))
	})
}

// TestSlowNodeHoldsUpItsOwnKeys: hits behind a call for keys of several nodes do not wait for a node that has nothing to do
// with their key. What a healthy node has replied is known at the end of a call that another node holds up.
func TestSlowNodeHoldsUpItsOwnKeys(t *testing.T) {
	t.Parallel()
	inTower(t, 2, pipeline.CountersConfig{}, func(t *testing.T, w *tower) {
		mine, its := keyOn(w, 0, "mine"), keyOn(w, 1, "its")
		flow := w.stall(1, toClient)
		ctx, cancel := context.WithCancel(t.Context())
		var all []chan error
		calls := make([][]pipeline.Hit, 10)
		for i := range calls {
			calls[i] = []pipeline.Hit{{Key: mine}, {Key: its}}
			all = append(all, make(chan error, 1))
			go func() { all[i] <- w.counters.Hit(ctx, calls[i]) }()
			synctest.Wait()
		}
		began, behind := time.Now(), pipeline.Hit{Key: mine}
		require.NoError(t, <-w.hit(within(t, time.Second), &behind))
		require.Equal(t, began, time.Now())
		require.EqualValues(t, len(calls)+1, behind.Total)
		cancel()
		for i, done := range all {
			require.Error(t, <-done)
			require.NoError(t, calls[i][0].Err)
			require.EqualValues(t, i+1, calls[i][0].Total)
			require.Error(t, calls[i][1].Err)
		}
		flow()
		require.EqualValues(t, len(calls)+2, w.hitOnce(t, mine, 1, 0))
	})
}
