package wire

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTripIsTimedWhenAskedFor: the first batch after Trip, and no other, for as
// long as it takes, whether its caller stays or not.
func TestTripIsTimedWhenAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 30 * time.Millisecond
		d := pipeDialer(t, func(p *peer) {
			for {
				if _, err := p.command(); err != nil {
					return
				}
				time.Sleep(latency)
				if !p.send("+PONG\r\n") {
					return
				}
			}
		})
		l := dialWith(t, d, "server:1", noEvents{})
		require.NoError(t, l.ping(t))
		require.Zero(t, l.Trip(), "nobody had asked for it")
		require.Zero(t, l.Trip(), "no batch since")
		require.NoError(t, l.ping(t))
		time.Sleep(time.Second)
		require.Equal(t, latency, l.Trip())
		require.Zero(t, l.Trip(), "it was told")

		ctx, cancel := context.WithTimeout(t.Context(), latency/2)
		defer cancel()
		b := newTrip([]string{"PING"})
		RoundTrip(ctx, l, b)
		require.ErrorIs(t, b.err, context.DeadlineExceeded)
		require.Zero(t, l.Trip(), "it is not complete")
		time.Sleep(time.Second)
		require.Equal(t, latency, l.Trip())
	})
}
