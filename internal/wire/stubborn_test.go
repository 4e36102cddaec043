package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// A timeless connection knows no deadlines, like a channel of SSH.
type timeless struct{ net.Conn }

var errNoDeadlines = errors.New("deadlines are not supported")

func (timeless) SetDeadline(time.Time) error      { return errNoDeadlines }
func (timeless) SetReadDeadline(time.Time) error  { return errNoDeadlines }
func (timeless) SetWriteDeadline(time.Time) error { return errNoDeadlines }

// wrapped returns d with its connections wrapped.
func wrapped(d lanes.Dialer, wrap func(net.Conn) net.Conn) lanes.Dialer {
	dial := d.NetDial
	d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return wrap(conn), err
	}
	return d
}

func makeTimeless(c net.Conn) net.Conn { return timeless{c} }

func TestCallersLeaveConnectionsWithoutDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dialWith(t, wrapped(pipeDialer(t, silent), makeTimeless), "pipe:1", noEvents{})
		quieten(t, l)
		b, begin := newTrip([]string{"INCR", "k"}), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		RoundTrip(ctx, l, b)
		assert.Equal(t, 50*time.Millisecond, time.Since(begin))
		_, err := b.Reply(0)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
		require.NoError(t, l.Err())

		begin = time.Now()
		require.NoError(t, l.Close())
		require.Zero(t, time.Since(begin))
	})
}

func TestWriteTimeoutWithoutDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := wrapped(pipeDialer(t, func(*peer) { <-t.Context().Done() }), makeTimeless)
		d.WriteTimeout = 3 * time.Second
		l, err := Dial(t.Context(), d, "pipe:1")
		require.NoError(t, err)
		b, begin := newTrip([]string{"SET", "k", "v"}), time.Now()
		RoundTrip(t.Context(), l, b)
		require.Equal(t, d.WriteTimeout, time.Since(begin))
		_, err = b.Reply(0)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, err, errWriteTimeout)
	})
}

// TestDialEndsWithItsContext: also over a connection that knows no deadlines.
func TestDialEndsWithItsContext(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			begin := time.Now()
			_, err := Dial(ctx, wrapped(lanes.Dialer{NetDial: pipeTo(t, deaf)}, makeTimeless), "pipe:1")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "pipe:1: ")
			require.Equal(t, 50*time.Millisecond, time.Since(begin))
		})
	}
}
