package wire

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

var errLeaving = errors.New("the server is leaving")

func TestDrainOfAnIdleLane(t *testing.T) {
	var events counting
	l := dialWith(t, lanes.Dialer{}, scripted(t, (*peer).echo), &events)
	require.NoError(t, l.ping(t))
	l.Drain(errLeaving)
	require.ErrorIs(t, l.Err(), errLeaving)
	err := l.ping(t)
	wantOutcome(t, err, redislanes.ErrNotSent)
	require.ErrorIs(t, err, errLeaving)
	until(t, "the pool is told", func() bool { return events.closed.Load() == 1 })
}

// A lane with something in flight ends it first, and takes nothing new.
func TestDrainWaitsForReplies(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	var events counting
	l := dialWith(t, lanes.Dialer{}, scripted(t, func(p *peer) {
		if p.take(1) {
			close(asked)
			<-answer
			p.send("+PONG\r\n")
			p.echo()
		}
	}), &events)
	b := newTrip([]string{"PING"})
	done := start(t.Context(), l, b)
	await(t, "the server's having the command", asked)
	l.Drain(errLeaving)
	l.emptied() // the reader found nothing in flight before the batch came, and looks only now
	require.NoError(t, l.Err(), "it must not close before the reply")
	wantOutcome(t, l.ping(t), redislanes.ErrNotSent)
	ok, _ := l.Dispatch(newTrip([]string{"PING"}), 10)
	require.False(t, ok)
	close(answer)
	await(t, "the reply", done)
	require.Equal(t, []string{"+PONG\r\n"}, b.texts())
	until(t, "it closes", func() bool { return errors.Is(l.Err(), errLeaving) })
	until(t, "the pool is told", func() bool { return events.closed.Load() == 1 })
}

// However a drain meets the traffic, no command's outcome becomes unknown.
func TestDrainUnderTraffic(t *testing.T) {
	addr := scripted(t, (*peer).echo)
	for range 50 {
		l := dial(t, addr)
		var answered atomic.Int32
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for {
					if err := l.ping(t); err != nil {
						if !errors.Is(err, redislanes.ErrNotSent) {
							t.Errorf("got %v, want ErrNotSent", err)
						}
						return
					}
					answered.Add(1)
				}
			})
		}
		until(t, "there is traffic", func() bool { return answered.Load() > 20 })
		l.Drain(errLeaving)
		callers.Wait()
		require.ErrorIs(t, l.Err(), errLeaving)
	}
}
