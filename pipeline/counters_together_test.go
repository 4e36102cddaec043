package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestSlowNodeHoldsUpItsOwnKeys: of a call whose hits fly to several nodes together, a
// key lands with its node's reply for those that wait behind it, also if another node
// is slow or sends its key away: whether they came before that reply or after it.
func TestSlowNodeHoldsUpItsOwnKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		after, moved bool
	}{
		{name: "before the reply"}, {name: "after the reply", after: true},
		{name: "before the reply, with a redirect", moved: true}, {name: "after the reply, with a redirect", after: true, moved: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newTower(t, 3, pipeline.CountersConfig{})
				mine, its := keyOn(w, 0, "mine"), keyOn(w, 1, "its")
				at := 1
				if c.moved {
					at = 2
					w.move(its, at)
				}
				flowToo := w.stall(at, toClient)
				flow := func() {}
				if !c.after {
					flow = w.stall(0, toClient)
				}
				both := []pipeline.Hit{{Key: mine, By: 1}, {Key: its, By: 1}, {Key: mine}} // a sum of two hits, for which others wait
				first := make(chan error, 1)
				go func() { first <- w.counters.Hit(within(t, 20*time.Second), both) }()
				synctest.Wait()
				w.counted(t, 0, at)

				began := time.Now()
				behind := pipeline.Hit{Key: mine, By: 1}
				done := w.hit(within(t, 10*time.Second), &behind)
				if !c.after {
					require.Equal(t, 1, w.counters.Waiting(mine))
					flow()
				}
				require.NoError(t, <-done)
				require.Equal(t, began, time.Now(), "it waits for a node that has nothing to do with its key")
				require.EqualValues(t, 2, behind.Total)
				select {
				case err := <-first:
					t.Fatal("the other key's node has not replied: ", err)
				default:
				}
				flowToo()
				require.NoError(t, <-first)
				require.EqualValues(t, 1, both[0].Total)
				require.EqualValues(t, 1, both[1].Total)
			})
		})
	}
}

// TestSlowNodeOfMergedHits: hits that waited travel together, those of several nodes too. A key lands soon after
// its node's reply if another node is slow, although nobody waits behind it, and if the other key's time to live
// has to be set again while its node refuses that.
func TestSlowNodeOfMergedHits(t *testing.T) {
	t.Parallel()
	for name, mending := range map[string]bool{"slow": false, "mending": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTower(t, 2, pipeline.CountersConfig{})
				together := 0
				for i := 0; i < 20 || together == 0 && i < 200; i++ { // replies may be seen one after the other: then each key's hits leave alone
					if w.mergeOnTwoNodes(t, keyOn(w, 0, fmt.Sprint("mine", i)), keyOn(w, 1, fmt.Sprint("its", i)), mending) {
						together++
					}
				}
				require.Positive(t, together, "the hits never travelled together")
			})
		})
	}
}

// mergeOnTwoNodes reports whether the hits on both keys have travelled together.
func (w *tower) mergeOnTwoNodes(t *testing.T, mine, its string, mending bool) (together bool) {
	t.Helper()
	both := []pipeline.Hit{{Key: mine, By: 1, TTL: time.Hour}, {Key: its, By: 1, TTL: time.Hour}}
	require.NoError(t, w.counters.Hit(t.Context(), slices.Clone(both))) // they have their times to live
	flow := []func(){w.stall(0, toClient), w.stall(1, toClient)}
	first := make(chan error, 1)
	go func() { first <- w.counters.Hit(within(t, 20*time.Second), slices.Concat(both, both)) }()
	synctest.Wait()
	behind := w.gather(t, slices.Clone(both))
	flowToo := w.stall(1, toServer)
	if mending {
		w.do(t, "DEL", mine)
		w.refuse("LOADING", 0, "SET")
	}
	flow[0]()
	flow[1]()
	require.NoError(t, <-first)
	synctest.Wait()
	together = w.counters.Together(mine, its)
	began, prompt, late := time.Now(), behind[0], behind[1]
	if mending {
		time.Sleep(100 * time.Millisecond)
		flowToo()
		began, prompt, late = time.Now(), late, prompt
	}
	require.NoError(t, <-prompt)
	require.Less(t, time.Since(began), 20*time.Millisecond, "it waits for a node that has nothing to do with its key")
	if mending {
		w.refuse("", 0, "SET")
	}
	flowToo()
	require.NoError(t, <-late)
	require.Equal(t, time.Hour, w.ttl(mine).Round(time.Minute))
	return together
}

// counted checks that the nodes have counted once since they were warmed up.
func (w *tower) counted(t *testing.T, nodes ...int) {
	t.Helper()
	for _, node := range nodes {
		require.Equal(t, 2, w.Calls(node, "INCRBY"))
	}
}

// TestTogetherToTheContextsEnd: what a healthy node has replied is known at the end of
// a call that another node holds up.
func TestTogetherToTheContextsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 2, pipeline.CountersConfig{})
		flow := w.stall(1, toClient)
		ctx, cancel := context.WithCancel(t.Context())
		hits := []pipeline.Hit{{Key: keyOn(w, 0, "mine"), By: 7}, {Key: keyOn(w, 1, "its"), By: 7}}
		done := make(chan error, 1)
		go func() { done <- w.counters.Hit(ctx, hits) }()
		synctest.Wait()
		w.counted(t, 0, 1)
		cancel()
		require.ErrorIs(t, <-done, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, hits[1].Err, redislanes.ErrUnknownOutcome)
		require.NoError(t, hits[0].Err)
		require.EqualValues(t, 7, hits[0].Total)
		flow()
		hits = []pipeline.Hit{{Key: hits[0].Key, By: 1}, {Key: hits[1].Key, By: 1}}
		require.NoError(t, w.counters.Hit(within(t, 10*time.Second), hits))
		require.EqualValues(t, 8, hits[0].Total)
		require.EqualValues(t, 8, hits[1].Total)
	})
}

// TestPanicOfACallToSeveralNodes is TestPanicBelowHit for one that flies to both.
func TestPanicOfACallToSeveralNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 2, pipeline.CountersConfig{})
		ctx := within(t, 10*time.Second)
		hits := []pipeline.Hit{{Key: keyOn(w, 0, "k"), By: 1}, {Key: keyOn(w, 1, "k"), By: 1}}
		require.PanicsWithValue(t, "fragile", func() { _ = w.counters.Hit(&fragile{Context: ctx}, hits) })
		require.NoError(t, w.counters.Hit(ctx, hits))
		require.EqualValues(t, 1, hits[0].Total, "the panic came before anything was sent")
		require.EqualValues(t, 1, hits[1].Total, "the panic came before anything was sent")
		require.NoError(t, w.counters.Close(), "nothing is left running")
	})
}

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

		// Their delivery learns that one key has moved to node 1, which is slow.
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
