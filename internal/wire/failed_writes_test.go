//go:build unix

package wire

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// A failing socket fails the first write when it is told to, and would take what
// comes behind it.
type failing struct {
	writes      int
	first, fail chan struct{}
	behind      int // bytes
}

// failWrites makes the lane's socket a failing one.
func failWrites(l *Lane) *failing {
	f := &failing{first: make(chan struct{}), fail: make(chan struct{})}
	s := l.conn.socket
	s.try = func(uintptr) bool {
		if f.writes++; f.writes == 1 {
			close(f.first)
			<-f.fail
			s.err = errors.New("a piece was lost")
			return true
		}
		f.behind += len(s.out)
		s.wrote = len(s.out)
		return true
	}
	return f
}

// Nothing is enqueued behind a hole in the stream: it would be written, and
// reported as not sent, since its place in the stream is behind what was handed
// to the socket. The waits here only make the lock go to those who want it one by
// one, as a sync.Mutex does when they have waited for a millisecond: a batch then
// comes between any two times that a failed writer takes the lock.
func TestNothingIsWrittenBehindAHole(t *testing.T) {
	const starving = 2 * time.Millisecond
	addr := scripted(t, func(p *peer) { p.take(1) })
	for range 5 {
		l, err := Dial(within(t, patience), lanes.Dialer{}, addr)
		require.NoError(t, err)
		conn := failWrites(l)
		lost := begun([]string{"SET", "k", "v"})
		require.True(t, l.Submit(lost))
		go Flush([]*Batch{lost})
		<-conn.first

		l.mu.Lock()
		go func() {
			l.mu.Lock()
			defer l.mu.Unlock()
		}()
		time.Sleep(starving)
		l.mu.Unlock()
		l.mu.Lock()
		close(conn.fail)
		time.Sleep(starving)
		behind, enqueued := begun([]string{"PING"}), make(chan bool)
		go func() { enqueued <- enqueue(l, behind, 10) }()
		time.Sleep(starving)
		l.mu.Unlock()
		if <-enqueued {
			Flush([]*Batch{behind})
		}
		require.NoError(t, l.Close())
		require.NoError(t, lost.call.Wait(within(t, patience)))
		require.Zero(t, conn.behind, "bytes behind the hole")
		if behind.Failed() { // it was enqueued before the writer knew
			_, err := behind.Reply(0)
			require.ErrorIs(t, err, redislanes.ErrNotSent)
		}
	}
}

// TestRepliesThatArrivedSurviveAFailedWrite: a server has answered and has gone. The write of another batch
// fails while replies are still to be read.
func TestRepliesThatArrivedSurviveAFailedWrite(t *testing.T) {
	const commands = 5000 // with more replies than a read takes
	for range 5 {
		answered := make(chan struct{})
		addr := scripted(t, func(p *peer) {
			if p.take(commands) && p.send(strings.Repeat("+OK\r\n", commands)) {
				close(answered)
			}
		})
		l, err := Dial(within(t, patience), lanes.Dialer{}, addr)
		require.NoError(t, err)
		many := make([][]string, commands)
		for i := range many {
			many[i] = []string{"PING"}
		}
		early := begun(many...)
		l.replyMu.Lock() // so that the reader has some replies, and the rest is not read
		require.True(t, l.Submit(early))
		Flush([]*Batch{early})
		<-answered
		until(t, "the first write is over", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return !l.writing
		})
		l.mu.Lock()
		conn := failWrites(l)
		l.mu.Unlock()
		close(conn.fail)
		late := begun([]string{"SET", "k", "v"})
		require.True(t, l.Submit(late))
		Flush([]*Batch{late})
		require.Error(t, l.Err())
		require.False(t, enqueue(l, begun([]string{"PING"}), 10))
		l.replyMu.Unlock()
		require.NoError(t, early.call.Wait(within(t, patience)))
		require.False(t, early.Failed())
		require.NoError(t, late.call.Wait(within(t, patience)))
		_, err = late.Reply(0)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.NoError(t, l.Close())
	}
}

// lying is a connection like TLS, of whose failed writes more may have been
// sent than they say.
type lying struct {
	net.Conn
	fails bool
}

func (c *lying) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.fails {
		return 0, errors.New("nothing was sent")
	}
	return n, err
}

func TestFailedWriteThatIsNotRawIsUnknown(t *testing.T) {
	addr := scripted(t, func(p *peer) { _, _ = io.Copy(io.Discard, p) })
	tcp, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer tcp.Close()
	conn := &lying{Conn: tcp}
	err = dialer{Dialer: WithDefaults(lanes.Dialer{})}.handshake(t.Context(), "", conn)
	require.NoError(t, err)
	conn.fails = true
	l := newLane(addr, guardedConn(conn, patience), dialer{Dialer: WithDefaults(lanes.Dialer{})}, Owner{})
	defer l.Close()
	b := newTrip(large(4, writePiece/3)...)
	RoundTrip(within(t, patience), l, b)
	for i := range 2 { // the others were not given to it
		_, err := b.Reply(i)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
	}
}

// Of a write over TLS that failed, any part may have been sent.
func TestFailedWriteOverTLSIsUnknown(t *testing.T) {
	addr, d := scriptedTLS(t, func(p *peer) { _, _ = io.Copy(io.Discard, p) })
	l := dialWith(t, d, addr, noEvents{})
	raw := l.conn.secure.socket
	raw.try = func(uintptr) bool {
		raw.err = syscall.EPIPE
		return true
	}
	b := newTrip(large(4, writePiece/3)...)
	RoundTrip(within(t, patience), l, b)
	for i, want := range []error{redislanes.ErrUnknownOutcome, redislanes.ErrUnknownOutcome, redislanes.ErrNotSent, redislanes.ErrNotSent} {
		_, err := b.Reply(i)
		wantOutcome(t, err, want)
	}
	require.ErrorIs(t, l.Err(), syscall.EPIPE)
}
