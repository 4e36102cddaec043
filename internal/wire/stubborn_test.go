package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
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

// A stubborn connection is timeless, and Close ends neither itself nor what the
// connection is doing, until the test's end.
type stubborn struct {
	timeless
	release chan struct{}
}

func (s stubborn) Close() error {
	<-s.release
	return s.Conn.Close()
}

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

// makeStubborn returns a wrapper and what ends its connections.
func makeStubborn() (wrap func(net.Conn) net.Conn, release func()) {
	done := make(chan struct{})
	return func(c net.Conn) net.Conn { return stubborn{timeless{c}, done} }, sync.OnceFunc(func() { close(done) })
}

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

// A connection that goes on when it was closed holds up neither its lane's closing nor
// callers without a deadline.
func TestStubbornConnectionsAreLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrap, release := makeStubborn()
		events := new(counting)
		d := wrapped(pipeDialer(t, silent), wrap)
		defer release()
		l, _, err := DialOwned(t.Context(), d, Purpose{}, "pipe:1", Owner{Events: events})
		require.NoError(t, err)
		b := newTrip([]string{"INCR", "k"})
		done := start(t.Context(), l, b)
		synctest.Wait()

		begin := time.Now()
		require.NoError(t, l.Close())
		<-done
		require.Zero(t, time.Since(begin))
		_, err = b.Reply(0)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
		synctest.Wait()
		require.Equal(t, int32(1), events.closed.Load())
		require.NoError(t, l.Close())
	})
}

// What a read brings after its lane was given up goes nowhere.
func TestLateReadHasNoMemoryOfTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrap, release := makeStubborn()
		more := make(chan bool)
		d := wrapped(pipeDialer(t, func(p *peer) {
			p.take(2)
			p.send("+OK\r\n$40000\r\n" + strings.Repeat("x", 20000))
			<-more
			p.send(strings.Repeat("y", 20000) + "\r\n")
		}), wrap)
		defer release()
		l, err := Dial(t.Context(), d, "pipe:1")
		require.NoError(t, err)
		b := newTrip([]string{"GET", "a"}, []string{"GET", "b"})
		done := start(t.Context(), l, b)
		synctest.Wait()
		require.NoError(t, l.Close())
		<-done
		require.Equal(t, []string{"+OK\r\n", ""}, b.texts())
		memory := b.buf[:cap(b.buf)]
		close(more)
		synctest.Wait()
		require.NotContains(t, string(memory), "y")
		require.Equal(t, []string{"+OK\r\n", ""}, b.texts())
		require.Zero(t, l.InFlight())
	})
}

func TestWriteTimeoutWithoutDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrap, release := makeStubborn()
		d := wrapped(pipeDialer(t, func(*peer) { <-t.Context().Done() }), wrap)
		d.WriteTimeout = 3 * time.Second
		defer release()
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

// Why a handshake failed is told at once, and not when its connection has ended.
func TestFailedHandshakeBeforeItsConnectionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		d     lanes.Dialer
		serve func(conn net.Conn)
		want  any // the type of the error
	}{
		"a password that is refused": {lanes.Dialer{Password: "wrong"}, func(conn net.Conn) {
			for p := newPeer(conn); p.take(1) && p.send("-WRONGPASS invalid username-password pair\r\n"); {
			}
		}, new(*redislanes.HandshakeError)},
		"no TLS": {lanes.Dialer{TLS: &tls.Config{}}, func(conn net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, _ = io.WriteString(conn, "-ERR unknown command\r\n")
		}, new(tls.RecordHeaderError)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrap, release := makeStubborn()
				defer release()
				c.d.NetDial = func(context.Context, string, string) (net.Conn, error) {
					client, server := net.Pipe()
					go func() {
						defer server.Close()
						c.serve(server)
					}()
					return client, nil
				}
				begin := time.Now()
				_, err := Dial(t.Context(), wrapped(c.d, wrap), "pipe:1")
				require.ErrorAs(t, err, c.want)
				require.Zero(t, time.Since(begin))
			})
		})
	}
}

// A dial ends with its context, whatever the user's part in it does.
func TestDialEndsWithItsContext(t *testing.T) {
	var ended chan struct{}
	for name, c := range map[string]struct {
		dialer func(t *testing.T) lanes.Dialer
		late   time.Duration
	}{
		"timeless": {func(t *testing.T) lanes.Dialer { return wrapped(lanes.Dialer{NetDial: pipeTo(t, false)}, makeTimeless) }, 0},
		"deaf":     {func(t *testing.T) lanes.Dialer { return wrapped(lanes.Dialer{NetDial: pipeTo(t, true)}, makeTimeless) }, 0},
		"stubborn": {func(t *testing.T) lanes.Dialer {
			return wrapped(lanes.Dialer{NetDial: pipeTo(t, false)}, func(c net.Conn) net.Conn { return stubborn{timeless{c}, ended} })
		}, 0},
		"NetDial": {func(*testing.T) lanes.Dialer {
			return lanes.Dialer{NetDial: func(context.Context, string, string) (net.Conn, error) {
				<-ended
				return nil, errors.New("at last")
			}}
		}, endPatience},
		"Credentials": {func(*testing.T) lanes.Dialer {
			return lanes.Dialer{Credentials: func(context.Context) (string, string, error) {
				<-ended
				return "", "", errors.New("at last")
			}}
		}, endPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended = make(chan struct{})
				defer close(ended)
				d := c.dialer(t)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				begin := time.Now()
				_, err := Dial(ctx, d, "pipe:1")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, "pipe:1: ")
				require.Equal(t, 50*time.Millisecond+c.late, time.Since(begin))
			})
		})
	}
}
