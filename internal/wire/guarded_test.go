package wire

import (
	"bytes"
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

// A panicking connection panics in the methods of the given names.
type panicking struct {
	net.Conn
	reads, writes, closes, deadlines bool
}

func (c panicking) Read(p []byte) (int, error) {
	if c.reads {
		panic("boom")
	}
	return c.Conn.Read(p)
}

func (c panicking) Write(p []byte) (int, error) {
	if c.writes && !bytes.Contains(p, []byte("SETINFO")) { // behind the handshake
		panic("boom")
	}
	return c.Conn.Write(p)
}

func (c panicking) SetReadDeadline(time.Time) error {
	if c.deadlines {
		panic("boom")
	}
	return nil
}

func (c panicking) SetWriteDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c panicking) Close() error {
	_ = c.Conn.Close()
	if c.closes {
		panic("boom")
	}
	return nil
}

// TestPanicOfAConnection: it fails the connection, and not the process.
func TestPanicOfAConnection(t *testing.T) {
	for name, c := range map[string]struct {
		conn   panicking
		dialed bool
	}{
		"Read": {panicking{reads: true}, false}, "Write": {panicking{writes: true}, true}, "Close": {panicking{closes: true}, true}, "deadlines": {panicking{deadlines: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := wrapped(pipeDialer(t, silent), func(conn net.Conn) net.Conn {
					c.conn.Conn = conn
					return c.conn
				})
				l, err := Dial(t.Context(), d, "pipe:1")
				if !c.dialed {
					require.ErrorContains(t, err, "Read of a connection of Dialer.NetDial panicked: boom")
					return
				}
				require.NoError(t, err)
				b := newTrip([]string{"INCR", "k"})
				done := start(t.Context(), l, b)
				synctest.Wait()
				if c.conn.writes {
					<-done
				}
				require.NoError(t, l.Close())
				<-done
				_, err = b.Reply(0)
				wantOutcome(t, err, redislanes.ErrUnknownOutcome)
				if c.conn.writes {
					require.ErrorContains(t, err, "Write of a connection of Dialer.NetDial panicked: boom")
				}
			})
		})
	}
}

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
		d.Timeout = 3 * time.Second
		l, err := Dial(t.Context(), d, "pipe:1")
		require.NoError(t, err)
		b, begin := newTrip([]string{"SET", "k", "v"}), time.Now()
		RoundTrip(t.Context(), l, b)
		require.Equal(t, d.Timeout, time.Since(begin))
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
