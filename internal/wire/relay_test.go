package wire

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// A relay keeps its deadlines and ends at once, and nothing is lost by a deadline, although
// the connection keeps none and does not end.
func TestRelayBeforeAStubbornConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrap, release := makeStubborn()
		near, far := net.Pipe()
		defer far.Close()
		defer release()
		conn := relayed(wrap(near), time.Hour)
		in := make([]byte, 8)

		began := time.Now()
		require.NoError(t, conn.SetDeadline(began.Add(time.Second)))
		_, err := conn.Read(in)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.True(t, interrupted(err))
		sent := make([]byte, 3*relayPiece) // two of which the relay takes
		for i := range sent {
			sent[i] = byte(i / 251)
		}
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Second)))
		n, err := conn.Write(sent)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 2*relayPiece, n)
		require.Equal(t, 2*time.Second, time.Since(began))

		require.NoError(t, conn.SetDeadline(time.Time{}))
		got := make([]byte, len(sent))
		read := make(chan error)
		go func() { _, err := io.ReadFull(far, got); read <- err }()
		_, err = conn.Write(sent[n:])
		require.NoError(t, err)
		require.NoError(t, <-read)
		require.Equal(t, sent, got)
		_, err = io.WriteString(far, "reply")
		require.NoError(t, err)
		n, err = conn.Read(in)
		require.NoError(t, err)
		require.Equal(t, "reply", string(in[:n]))

		time.AfterFunc(time.Second, func() { _ = conn.Close() })
		began = time.Now()
		_, err = conn.Read(in)
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = conn.Write(in)
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// What the connection calls a deadline is the relay's end, and no reason to read again.
func TestRelayEndsWithItsConnection(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	require.NoError(t, near.SetReadDeadline(time.Unix(1, 0)))
	conn := relayed(struct{ net.Conn }{near}, time.Hour)
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.False(t, interrupted(err))
}

// TestRelayProgress: an upload is no silence while a slow connection takes what the relay
// holds of it.
func TestRelayProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		conn := relayed(struct{ net.Conn }{near}, time.Hour)
		l := newLane("", conn, dialer{Dialer: WithDefaults(lanes.Dialer{WriteTimeout: time.Hour})}, Owner{})
		defer l.Close()
		b := begun([]string{"SET", "k", string(make([]byte, 3*relayPiece/2))})
		require.True(t, l.Submit(b))
		Flush([]*Batch{b})
		synctest.Wait() // the relay has taken all of it
		before := l.Progress()
		_, err := io.ReadFull(far, make([]byte, relayPiece))
		require.NoError(t, err)
		synctest.Wait()
		require.NotEqual(t, before, l.Progress())
	})
}

// writes notes the sizes of writes.
type writes struct {
	net.Conn
	mu    sync.Mutex
	empty int
	bytes int
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes += len(p); len(p) == 0 {
		w.empty++
	}
	return len(p), nil
}

// TestRelayWritesNothingEmpty: a pipe blocks an empty write until the other side reads, and some connections
// make a message of it.
func TestRelayWritesNothingEmpty(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := &writes{Conn: near}
	conn := relayed(w, time.Hour)
	defer conn.Close()
	const n = 20_000
	for range n {
		_, err := conn.Write([]byte("x"))
		require.NoError(t, err)
	}
	for {
		w.mu.Lock()
		bytes, empty := w.bytes, w.empty
		w.mu.Unlock()
		if bytes == n {
			require.Zero(t, empty)
			return
		}
		runtime.Gosched()
	}
}
