package linear

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

// An increment is one INCRBY and what its caller was told.
type increment struct {
	by    int64
	total int64
	known bool
}

// counterModel is a counter whose increments return the new total. One whose
// outcome is unknown may have any total; it may also not have run at all, which
// is the same as running after all others, so its history has no end.
//
// Totals only grow. So an increment may not take the counter beyond where the
// next known one found it, which spares the search most of its branches.
func counterModel(ops []porcupine.Operation) porcupine.Model {
	var found []int64 // the totals that known increments found, in order
	for _, op := range ops {
		if i := op.Output.(increment); i.known {
			found = append(found, i.total-i.by)
		}
	}
	slices.Sort(found)
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, _, output any) (bool, any) {
			now, i := state.(int64), output.(increment)
			next := now + i.by
			if i.known {
				return i.total == next, next
			}
			at, _ := slices.BinarySearch(found, now)
			return at == len(found) || next <= found[at], next
		},
	}
}

// A history is what callers did, with times.
type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation
}

func (h *history) add(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// record performs one increment for the caller; it returns false if the library
// gave no outcome.
func (h *history) record(p *pipeline.Pipeline, caller int, key string, began time.Time, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	by := int64(caller + 1) // so that increments can be told apart
	p.Reset()
	total := p.IncrBy(key, by)
	p.Expire(key, time.Hour)
	call := time.Since(began).Nanoseconds()
	_ = p.Do(ctx)
	end := time.Since(began).Nanoseconds()
	n, err := total.Int()
	switch {
	case err == nil:
		h.add(porcupine.Operation{ClientId: caller, Call: call, Return: end, Output: increment{by, n, true}})
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		h.add(porcupine.Operation{ClientId: caller, Call: call, Return: math.MaxInt64, Output: increment{by: by}})
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused): // it did not happen
	default:
		return err
	}
	return nil
}

// TestLinearizable: callers count one key while its slot moves and connections are killed.
// porcupine finds an order of all increments that explains every total.
func TestLinearizable(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := servers.Within(t, 60*time.Second)
	client, err := cluster.Config{}.New(ctx, real.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	const key = "linear"
	slot := cluster.Slot(key)
	var h history
	var callers sync.WaitGroup
	var stop atomic.Bool
	began := time.Now()
	for caller := range 6 {
		callers.Go(func() {
			p := pipeline.New(client)
			for !stop.Load() {
				if err := h.record(p, caller, key, began, time.Second); err != nil {
					t.Errorf("an error without an outcome: %v", err)
					return
				}
			}
		})
	}
	ways := real.ReshardWays()
	for i := range 9 {
		owner, err := real.Owner(ctx, slot)
		require.NoError(t, err)
		to := real.Nodes()[i%3]
		if to == owner {
			continue
		}
		require.NoError(t, ways[i/3%len(ways)](ctx, []uint16{slot}, to))
		require.NoError(t, to.Do(ctx, nil, "CLIENT", "KILL", "TYPE", "normal"))
	}
	stop.Store(true)
	callers.Wait()
	unknown := 0
	for _, op := range h.ops {
		if op.Return == math.MaxInt64 {
			unknown++
		}
	}
	s := client.Stats()
	t.Logf("%d increments, %d of them with an unknown outcome; %d MOVED, %d ASK", len(h.ops), unknown, s.Moved, s.Ask)
	require.NotZero(t, s.Moved)
	require.Greater(t, len(h.ops), 100)
	result := porcupine.CheckOperationsTimeout(counterModel(h.ops), h.ops, 30*time.Second)
	require.Equal(t, porcupine.Ok, result)

	// The check must be able to fail: one increment that counted twice. It is an
	// early one, as each unknown outcome before it doubles what has to be tried.
	broken := append([]porcupine.Operation(nil), h.ops...)
	for i, op := range broken {
		if o := op.Output.(increment); o.known && o.total >= 20 {
			o.total++
			broken[i].Output = o
			break
		}
	}
	require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(counterModel(broken), broken, 30*time.Second))
}
