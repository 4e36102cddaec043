package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

var errLeaving = errors.New("the server is leaving")

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
	l.delivered(1, nil) // the reader found nothing in flight before the batch came, and looks only now
	require.NoError(t, l.Err(), "it must not close before the reply")
	wantOutcome(t, l.ping(t), redislanes.ErrNotSent)
	ok, _ := l.Enqueue(newTrip([]string{"PING"}), 10, false)
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

// A parting connection returns the end of the stream together with the last bytes, as TLS 1.2 does with
// close_notify.
type parting struct {
	net.Conn
	parts bool
}

func (c *parting) Read(p []byte) (n int, err error) {
	if n, err = c.Conn.Read(p); err == nil && c.parts {
		err = io.EOF
	}
	return n, err
}

// asking is Events that ask whether the lane takes a batch when another one has its replies.
type asking struct {
	noEvents
	took chan bool
}

func (a asking) Answered(l *Lane) {
	took, _ := l.Enqueue(newTrip([]string{"INCR", "k"}), 10, false)
	a.took <- took
}

// TestNothingIsSentAfterTheEnd: a lane that has read the end of its stream together with a reply takes no
// batch: its outcome would be unknown for no reason.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		parts bool
		cause error
	}{
		"the end":                    {"+OK\r\n", true, io.EOF},
		"the end behind no reply":    {"+OK\r\n!!!\r\n", true, resp.ErrProtocol},
		"no reply behind the reply":  {"+OK\r\n!!!\r\n", false, resp.ErrProtocol},
		"nothing but the reply":      {"+OK\r\n", false, nil},
		"a push, and then no reply":  {">1\r\n+hi\r\n+OK\r\n!!!\r\n", false, resp.ErrProtocol},
		"a push, and the end":        {">1\r\n+hi\r\n+OK\r\n", true, io.EOF},
		"the end behind half a push": {"+OK\r\n>1\r\n", true, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			conn := guardedConn(&parting{near, c.parts}, patience)
			events := asking{took: make(chan bool, 1)}
			l := newLane("pipe:1", conn, dialer{Dialer: WithDefaults(lanes.Dialer{})}, Owner{Events: events})
			defer l.Close()
			b := newTrip([]string{"PING"})
			done := start(within(t, patience), l, b)
			p := newPeer(far)
			require.True(t, p.take(1))
			go p.send(c.reply)
			await(t, "the reply", done)
			require.Equal(t, "+OK\r\n", b.texts()[0])
			require.Equal(t, c.cause == nil, <-events.took)
			if c.cause != nil {
				<-l.ended
				require.ErrorIs(t, l.Err(), c.cause)
			}
		})
	}
}

// The reader may still deliver replies and the writer still count bytes: until
// both have ended, no batch of a lane that failed is settled.
func TestDrainWaitsForReaderAndWriter(t *testing.T) {
	for name, c := range map[string]struct {
		written bool
		want    error
	}{
		"the reader ends first": {false, redislanes.ErrNotSent},
		"the writer ends first": {true, redislanes.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			l := dial(t, scripted(t, (*peer).echo))
			quieten(t, l)
			b := begun([]string{"PING"})
			require.True(t, l.Submit(b))
			l.mu.Lock()
			require.Equal(t, claimed, l.reader)
			l.reader = caller
			l.mu.Unlock()
			if c.written {
				Flush([]*Batch{b})
			}
			require.NoError(t, l.Close()) // the background goroutine has ended, too
			require.Equal(t, 1, l.InFlight())
			l.resign(nil)
			if !c.written {
				require.Equal(t, 1, l.InFlight(), "it has the role of the writer")
				Flush([]*Batch{b})
			}
			require.Zero(t, l.InFlight())
			require.NoError(t, b.call.Wait(t.Context()))
			_, err := b.Reply(0)
			wantOutcome(t, err, c.want)
		})
	}
}
