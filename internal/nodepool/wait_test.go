package nodepool

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// markedSlow marks batches as slow.
type markedSlow struct {
	*Node
	slow bool
}

func (s markedSlow) Submit(b *wire.Batch) (mine bool) {
	b.SetSlow(s.slow)
	return s.Node.Submit(b)
}

// TestDeadlineInTheQueue: whose context ends in a pool's queue is told for how
// long it has waited, and for what.
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
					r, err := wire.Encode(radix.Cmd(nil, "INCR", "k"))
					require.NoError(t, err)
					return r.Exchange(ctx, markedSlow{w.Node, c.slow}, nil)
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
		dialer := lanes.Dialer{NetDial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
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
