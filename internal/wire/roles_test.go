package wire

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// The reader may still deliver replies and the writer still count bytes: until
// both have ended, no batch of a lane that failed is settled.
func TestDrainWaitsForReaderAndWriter(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	quieten(t, l)
	b := begun([]string{"PING"})
	require.True(t, l.Submit(b))
	l.mu.Lock()
	require.Equal(t, claimed, l.reader)
	l.reader = caller
	l.mu.Unlock()

	require.NoError(t, l.Close()) // the background goroutine has ended, too
	require.Equal(t, 1, l.InFlight())
	l.resign(nil)
	require.Equal(t, 1, l.InFlight(), "it has the role of the writer")
	Flush([]*Batch{b})
	require.Zero(t, l.InFlight())
	require.NoError(t, b.call.Wait(t.Context()))
	_, err := b.Reply(0)
	wantOutcome(t, err, redislanes.ErrNotSent)
}

func TestDrainByTheReaderIfTheWriterEndsFirst(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	quieten(t, l)
	b := begun([]string{"PING"})
	require.True(t, l.Submit(b))
	l.mu.Lock()
	l.reader = caller
	l.mu.Unlock()
	Flush([]*Batch{b})
	require.NoError(t, l.Close())
	require.Equal(t, 1, l.InFlight())
	l.resign(nil)
	require.Zero(t, l.InFlight())
	_, err := b.Reply(0)
	wantOutcome(t, err, redislanes.ErrUnknownOutcome)
}

// A batch that was enqueued when the last read had just returned must not be
// left without a reader.
func TestReaderDoesNotRetireWhileABatchWaits(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	quieten(t, l)
	l.Watch()
	b := begun([]string{"PING"})
	require.True(t, l.Submit(b))
	require.False(t, b.reads)
	require.False(t, l.retire())
	require.Equal(t, background, l.role())
	Flush([]*Batch{b})
	require.NoError(t, b.call.Wait(within(t, patience)))
}

// A claim that is dropped while somebody else enqueues is passed on once: two
// wake-ups would make two readers.
func TestClaimIsPassedOnOnce(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	for range 800 {
		l.mu.Lock()
		idle := l.reader == nobody && len(l.wake) == 0
		l.mu.Unlock()
		if !idle {
			quieten(t, l)
		}
		a, b := begun([]string{"PING"}), begun([]string{"PING"})
		require.True(t, l.Submit(a))
		done := make(chan struct{})
		go func() {
			defer close(done)
			if l.Submit(b) {
				Flush([]*Batch{b})
				b.read(t.Context())
			}
			_ = b.call.Wait(t.Context())
		}()
		l.Abandon(a, assert.AnError)
		await(t, "the neighbour", done)
		require.Equal(t, []string{"+OK\r\n"}, b.texts())
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
	l := newLane(addr, relayed(conn, patience), dialer{Dialer: WithDefaults(lanes.Dialer{})}, Owner{})
	defer l.Close()
	b := newTrip(large(4, relayPiece/3)...)
	RoundTrip(within(t, patience), l, b)
	for i := range 2 { // the relay may have taken the others, too
		_, err := b.Reply(i)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
	}
}
