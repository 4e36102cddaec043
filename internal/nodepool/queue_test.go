package nodepool

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/wire"
)

// TestQueueModel: waiters leave a queue from any place, and those that are left keep their order. A
// batch is found in the queue in which it waits, and in no other.
func TestQueueModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var queues [2]queue
	var model [2][]*waiter
	batches := make([]*wire.Batch, 20)
	for i := range batches {
		batches[i] = new(wire.Batch)
	}
	found := 0
	for range 5_000 {
		b := batches[random.IntN(len(batches))]
		at := slices.IndexFunc([]*queue{&queues[0], &queues[1]}, func(q *queue) bool { return q.of(b) != nil })
		q := random.IntN(len(queues))
		switch {
		case at >= 0:
			w := queues[at].of(b)
			require.Same(t, b, w.batch)
			found++
			queues[at].remove(w)
			model[at] = slices.DeleteFunc(model[at], func(other *waiter) bool { return other == w })
		case random.IntN(4) == 0: // a waiter for a dedicated connection
			w := &waiter{given: make(chan dedicateResult, 1)}
			queues[q].add(w)
			model[q] = append(model[q], w)
		case random.IntN(4) == 0 && len(model[q]) > 0:
			queues[q].remove(model[q][0])
			model[q] = model[q][1:]
		default:
			w := &waiter{batch: b}
			queues[q].add(w)
			model[q] = append(model[q], w)
		}
		for i := range queues {
			require.Equal(t, len(model[i]), queues[i].len())
			var all []*waiter
			for w := queues[i].first(); w != nil; w = w.next {
				all = append(all, w)
			}
			require.True(t, slices.Equal(model[i], all))
			if len(model[i]) > 0 {
				require.Same(t, model[i][0], queues[i].first())
			} else {
				require.Nil(t, queues[i].first())
			}
		}
	}
	require.Greater(t, found, 1_000)
}
