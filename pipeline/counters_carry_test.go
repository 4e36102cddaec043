package pipeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestGatheredByNode: of keys whose hits have gathered and leave together, one that has
// moved to another node does not hold up the others if that node is slow.
func TestGatheredByNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 2, pipeline.CountersConfig{})
		stays, moves := redistest.KeyInSlot(1, "stays"), redistest.KeyInSlot(2, "moves")
		both := func() []pipeline.Hit { return []pipeline.Hit{{Key: stays, By: 1}, {Key: moves, By: 1}} }

		// Two keys on node 0 that travel together, with two hits each, and hits behind them.
		flow := w.stall(0, toClient)
		first := make(chan error, 1)
		before := w.Calls(0, "INCRBY")
		go func() { first <- w.counters.Hit(within(t, 20*time.Second), append(both(), both()...)) }()
		synctest.Wait()
		require.Equal(t, before+2, w.Calls(0, "INCRBY"))
		second := w.gather(t, append(both(), both()...))

		// Their batch learns that one key has moved to node 1, which is slow.
		w.move(moves, 1)
		flowToo := w.stall(1, toClient)
		before = w.Calls(1, "INCRBY")
		flow()
		require.NoError(t, <-first)
		synctest.Wait()
		require.Equal(t, before+1, w.Calls(1, "INCRBY"))
		behind := w.gather(t, both()[1:])

		// The key on node 0 must not wait for node 1, nor hits behind it.
		began := time.Now()
		third := pipeline.Hit{Key: stays, By: 1}
		for _, done := range []chan error{second[0], second[2], w.hit(within(t, 20*time.Second), &third)} {
			require.NoError(t, <-done)
		}
		require.EqualValues(t, 5, third.Total)
		require.Equal(t, began, time.Now(), "a key on a healthy node waits for a slow one")
		flowToo()
		for _, done := range []chan error{second[1], second[3], behind[0]} {
			require.NoError(t, <-done)
		}
	})
}

// A fragile context panics when it is asked for its error, but for the first time.
type fragile struct {
	context.Context
	asked atomic.Int32
}

func (f *fragile) Err() error {
	if f.asked.Add(1) > 1 {
		panic("fragile")
	}
	return nil
}

// TestPanicBelowHit: a caller that recovers from a panic below Hit does not leave
// its key out: hits that wait behind it are counted, and so is the next one.
func TestPanicBelowHit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		ctx := within(t, 10*time.Second)
		require.PanicsWithValue(t, "fragile", func() {
			_ = w.counters.Hit(&fragile{Context: ctx}, []pipeline.Hit{{Key: "k", By: 1}, {Key: "k"}, {Key: "k", By: -1}})
		})
		hits := []pipeline.Hit{{Key: "k", By: 10}}
		require.NoError(t, w.counters.Hit(ctx, hits))
		require.NoError(t, w.counters.Close(), "nothing is left running")
		total, _ := w.Value("k")
		require.Equal(t, "9", total, "the panic came before the first of its two sums; the second one was sent, maybe beside the hit")
	})
}
