package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// gated is a server that answers a command when it is told to.
func gated(t testing.TB) (addr string, got <-chan []string, answer chan<- string) {
	commands, replies := make(chan []string, 100), make(chan string, 100)
	addr = scripted(t, func(p *peer) {
		for {
			args, err := p.command()
			if err != nil {
				return
			}
			if args[0] == "PING" {
				p.send("+PONG\r\n")
				continue
			}
			commands <- args
			select {
			case reply := <-replies:
				p.send(reply)
			case <-t.Context().Done():
				return
			}
		}
	})
	return addr, commands, replies
}

func TestCallerAloneReadsItsOwnReplies(t *testing.T) {
	addr, got, answer := gated(t)
	l := dial(t, addr)
	quieten(t, l)
	ctx := within(t, patience)
	for i := 0; i < 20; {
		require.NoError(t, ctx.Err(), "after %d trips", i)
		b := newTrip([]string{"ECHO", "x"})
		b.call.Begin(1)
		require.True(t, l.Submit(b))
		require.Equal(t, claimed, l.role())
		Flush([]*Batch{b})
		<-got
		answer <- fmt.Sprintf(":%d\r\n", i)
		began := time.Now()
		b.read(ctx)
		if b.phase != ended && time.Since(began) >= ownReadMax { // a busy machine, or nobody reads: once more
			require.NoError(t, b.call.Wait(ctx))
			quieten(t, l)
			continue
		}
		require.Equal(t, ended, b.phase)
		require.Equal(t, nobody, l.role(), "and no background reader is woken")
		require.NoError(t, b.call.Wait(ctx))
		require.Equal(t, []string{fmt.Sprintf(":%d\r\n", i)}, b.texts())
		i++
	}
}

func TestClaimIsLostToASecondBatch(t *testing.T) {
	addr, _, answer := gated(t)
	l := dial(t, addr)
	quieten(t, l)
	first, second := newTrip([]string{"ECHO", "1"}), newTrip([]string{"ECHO", "2"})
	first.call.Begin(1)
	second.call.Begin(1)
	require.True(t, l.Submit(first))
	require.Equal(t, claimed, l.role())
	require.True(t, l.Submit(second))
	require.Equal(t, background, l.role())
	Flush([]*Batch{first, second})
	answer <- ":1\r\n"
	answer <- ":2\r\n"

	// The first caller is held up elsewhere: the second has its reply all the same.
	require.NoError(t, second.call.Wait(within(t, patience)))
	assert.Equal(t, []string{":2\r\n"}, second.texts())
	first.read(within(t, patience)) // does nothing
	require.NoError(t, first.call.Wait(within(t, patience)))
	assert.Equal(t, []string{":1\r\n"}, first.texts())
}

// A caller that leaves between Enqueue and Read gives up its roles: nobody
// else would ever write or read.
func TestAbandonBeforeFlushAndRead(t *testing.T) {
	addr := scripted(t, (*peer).echo)
	for _, flushed := range []bool{false, true} {
		l := dial(t, addr)
		quieten(t, l)
		b := newTrip([]string{"ECHO", "x"})
		b.call.Begin(1)
		require.True(t, l.Submit(b))
		if flushed {
			Flush([]*Batch{b})
		}
		l.Abandon(b, assert.AnError)
		_, err := b.Reply(0)
		require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
		require.NoError(t, l.ping(t))
		until(t, "the abandoned batch is gone", func() bool { return l.InFlight() == 0 })
		require.True(t, l.idleWriter())
	}
}

func TestWatchNoticesAHangUp(t *testing.T) {
	hangUp := make(chan struct{})
	addr := scripted(t, func(p *peer) {
		go p.echo()
		<-hangUp
	})
	events := new(counting)
	l := dialWith(t, lanes.Dialer{}, addr, events)
	quieten(t, l)
	l.Watch()
	l.Watch() // again: nothing
	require.Equal(t, background, l.role())
	require.NoError(t, l.ping(t))
	close(hangUp)
	until(t, "the lane is closed", func() bool { return events.closed.Load() == 1 })
	require.Error(t, l.Err())
	l.Watch()
}

func TestUnusedLaneNoticesAHangUp(t *testing.T) {
	addr := scripted(t, func(*peer) {})
	events := new(counting)
	l := dialWith(t, lanes.Dialer{}, addr, events)
	until(t, "the lane is closed", func() bool { return events.closed.Load() == 1 })
	require.EqualError(t, l.Err(), "EOF")
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
