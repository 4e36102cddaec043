package wire

import (
	"bytes"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// A panicking connection panics in the methods of the given names.
type panicking struct {
	net.Conn
	reads, writes, closes bool
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
		"Read": {panicking{reads: true}, false}, "Write": {panicking{writes: true}, true}, "Close": {panicking{closes: true}, true},
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
