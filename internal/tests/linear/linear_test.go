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

// counterModel is a counter. The input of an increment is the amount, and the
// output the new total. An increment of unknown outcome has no output: it may have
// any total. It may also not have run at all, which is the same as running after
// all others, so its history has no end.
//
// Totals only grow. So an increment may not take the counter beyond where the
// next known one found it, which spares the search most of its branches.
func counterModel(ops []porcupine.Operation) porcupine.Model {
	read := func(input, output any) (by, total int64, known bool) {
		if out := output.([]any); len(out) > 0 {
			total, known = out[0].(int64), true
		}
		return input.([]any)[0].(int64), total, known
	}
	var found []int64 // the totals that known increments found, in order
	for _, op := range ops {
		if by, total, known := read(op.Input, op.Output); known {
			found = append(found, total-by)
		}
	}
	slices.Sort(found)
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			now := state.(int64)
			by, total, known := read(input, output)
			if known {
				return total == now+by, total
			}
			at, _ := slices.BinarySearch(found, now)
			return at == len(found) || now+by <= found[at], now + by
		},
	}
}

// A history is what callers did, with times.
type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation
}

// record performs one increment for the caller. It returns an error if the
// library gave no outcome.
func (h *history) record(p *pipeline.Pipeline, caller int, key string, began time.Time, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	by := int64(caller + 1) // so that increments can be told apart
	p.Reset()
	total := p.IncrBy(key, by)
	p.Expire(key, time.Hour)
	op := porcupine.Operation{ClientId: caller, Input: []any{by}, Output: []any(nil), Call: time.Since(began).Nanoseconds()}
	_ = p.Do(ctx)
	op.Return = time.Since(began).Nanoseconds()
	n, err := total.Int()
	switch {
	case err == nil:
		op.Output = []any{n}
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		op.Return = math.MaxInt64
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused):
		return nil // it did not happen
	default:
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	return nil
}

// TestLinearizable: callers count one key while its slot moves and connections are killed.
// porcupine finds an order of all increments that explains every total. In TestJudges it finds none where there is none.
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
	s := client.Stats()
	t.Logf("%d increments; %d MOVED, %d ASK", len(h.ops), s.Moved, s.Ask)
	require.NotZero(t, s.Moved)
	require.Greater(t, len(h.ops), 100)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(counterModel(h.ops), h.ops, 30*time.Second))
}
