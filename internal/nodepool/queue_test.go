package nodepool

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
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
			w.in.remove(w)
			model[at] = slices.DeleteFunc(model[at], func(other *waiter) bool { return other == w })
		case random.IntN(4) == 0: // a waiter for a dedicated connection
			w := &waiter{given: make(chan dedicateResult, 1)}
			queues[q].fast.add(w)
			model[q] = append(model[q], w)
		case random.IntN(4) == 0 && len(model[q]) > 0:
			queues[q].fast.remove(model[q][0])
			model[q] = model[q][1:]
		default:
			w := &waiter{batch: b}
			queues[q].fast.add(w)
			model[q] = append(model[q], w)
		}
		for i := range queues {
			require.Equal(t, len(model[i]), queues[i].len())
			var all []*waiter
			for w := queues[i].fast.head; w != nil; w = w.next {
				all = append(all, w)
			}
			require.True(t, slices.Equal(model[i], all))
			if len(model[i]) > 0 {
				require.Same(t, model[i][0], queues[i].fast.head)
			} else {
				require.Nil(t, queues[i].fast.head)
			}
		}
	}
	require.Greater(t, found, 1_000)
}

// silentDial gets no answer.
func silentDial(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// markedSlow marks batches as slow.
type markedSlow struct {
	*Node
	slow bool
}

func (s markedSlow) Submit(b *wire.Batch) (mine bool) {
	b.Slow = s.slow
	return s.Node.Submit(b)
}

// TestDeadlineInTheQueue: if a context ends in a pool's queue, the error says how long the
// call has waited, and for what.
func TestDeadlineInTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		kind  Config
		slow  bool // the commands travel on lanes for those
		holds int  // how many keep all in use
		want  string
	}{
		"fixed": {Fixed{Size: 2}, false, 2, "waited 100ms, 2 of 2 in use, 6 waiting: context deadline exceeded"},
		"laned": {Laned{Lanes: 2, MaxInFlight: 3}, false, 6, "waited 100ms, 6 of 6 in flight, 6 waiting: context deadline exceeded"},
		"slow": {Laned{SlowLanes: 1, MaxInFlight: 2}, true, 2,
			"waited 100ms, 2 of 2 in flight for slow commands, 6 waiting: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.kind, time.Second)
				do := func(ctx context.Context) error {
					to := w.Node.radix()
					to.Submitter = markedSlow{w.Node, c.slow}
					return to.Do(ctx, radix.Cmd(nil, "INCR", "k"))
				}
				var callers sync.WaitGroup
				for range c.holds {
					callers.Go(func() { assert.NoError(t, do(t.Context())) })
				}
				time.Sleep(10 * time.Millisecond)
				errs := make(chan error, 6)
				short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				for range cap(errs) {
					go func() { errs <- do(short) }()
				}
				var texts []string
				for range cap(errs) {
					err := <-errs
					assert.ErrorIs(t, err, redislanes.ErrNotSent)
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					var wait *cause.Wait
					if assert.ErrorAs(t, err, &wait) {
						texts = append(texts, wait.Error())
						assert.Contains(t, err.Error(), wait.Error())
						assert.Contains(t, err.Error(), w.Address())
					}
				}
				assert.Contains(t, texts, c.want)
				callers.Wait()
			})
		})
	}
}

// TestDeadlineWhileDialling: nothing is in use yet, and the error says why.
func TestDeadlineWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialer := lanes.Dialer{NetDial: silentDial}
		p, err := New(Fixed{Size: 2}, dialer, "silent:1", nil)
		require.NoError(t, err)
		defer p.Close()
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = p.Dedicate(short)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.EqualError(t, err, "redislanes: silent:1: not sent: waited 20ms, 0 of 2 in use, 2 being dialled, 1 waiting: context deadline exceeded")
	})
}

// TestWaitersAreServedInOrder blocks the only connection and queues commands
// one after the other.
func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1}, server)
	ctx := within(t, 20*time.Second)
	conn, err := p.Dedicate(ctx)
	require.NoError(t, err)
	before := p.figures().WaitCount // Dedicate may have waited for the dial
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := p.Do(ctx, radix.FlatCmd(nil, "RPUSH", "order", i)); err != nil {
				t.Error(err)
			}
		})
		until(t, "the command waits", func() bool { return p.figures().Waiters == i+1 })
	}
	require.Equal(t, 1, p.figures().InUse)
	conn.Return()
	wg.Wait()
	s := p.figures() // LRANGE may have to wait until the connection is free
	var order []int
	require.NoError(t, p.Do(ctx, radix.Cmd(&order, "LRANGE", "order", "0", "-1")))
	for i, n := range order {
		require.Equal(t, i, n)
	}
	require.EqualValues(t, 20, s.WaitCount-before)
	require.Positive(t, s.WaitTime)
}

// TestLeavingTheQueue: the error of a call that leaves at its deadline says that nothing
// was sent, and nothing is sent later.
func TestLeavingTheQueue(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1}, server)
	conn, err := p.Dedicate(within(t, 5*time.Second))
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = p.Do(short, radix.Cmd(nil, "SET", "left", "1"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.ErrorIs(t, dedicateError(short, p), context.DeadlineExceeded)
	require.Zero(t, p.figures().Waiters)
	conn.Return()
	require.Empty(t, get(t, p, "left"))
}
