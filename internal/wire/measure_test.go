package wire

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
)

// TestAnswered: one batch is timed after each look, for as long as it takes, whether its caller stays or not. A
// shorter time counts at once, a longer one by an eighth.
func TestAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		latency := 32 * time.Millisecond
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
		told := func(batches uint64, usual time.Duration) {
			t.Helper()
			b, u := l.Answered()
			require.Equal(t, batches, b)
			require.Equal(t, usual, u)
		}
		require.NoError(t, l.ping(t))
		told(1, 0) // nobody had asked for it
		require.NoError(t, l.ping(t))
		told(2, 32*time.Millisecond)
		latency = 40 * time.Millisecond
		require.NoError(t, l.ping(t))
		latency = 10 * time.Millisecond
		require.NoError(t, l.ping(t)) // is not timed
		told(4, 33*time.Millisecond)

		ctx, cancel := context.WithTimeout(t.Context(), latency/2)
		defer cancel()
		b := newTrip([]string{"PING"})
		RoundTrip(ctx, l, b)
		_, err := b.Reply(0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		told(4, 33*time.Millisecond)
		time.Sleep(time.Second)
		told(5, latency)
		l.ForgetReplyTime()
		told(5, 0)
	})
}

// TestMeasuredBatch: how long it took is known once it is complete, and stays.
func TestMeasuredBatch(t *testing.T) {
	var b Batch
	arena := resp.AppendCommand(nil, "GET", "a")
	call := NewCall()
	call.Begin(1)
	b.Reset(call, arena)
	b.Add(0, len(arena))
	began := Now() - time.Second
	b.Measure(began)
	require.Equal(t, len(arena), b.Size())
	require.GreaterOrEqual(t, b.Took(), time.Second, "it is not complete")
	b.Fail("a:1", errNotACommand)
	took := b.Took()
	require.GreaterOrEqual(t, took, time.Second)
	require.Equal(t, took, b.Took())
	require.Zero(t, b.ReplySize())
	names := 0
	for encoded := range b.Each(arena) {
		names++
		require.Equal(t, "GET", resp.CommandName(encoded))
	}
	require.Equal(t, 1, names)
	b.Reset(call, arena)
	require.Zero(t, b.since)
}

func TestProgress(t *testing.T) {
	addr, got, answer := gated(t)
	l := dial(t, addr)
	before := l.Progress()
	b := begun([]string{"ECHO", "x"})
	require.True(t, l.Submit(b))
	Flush([]*Batch{b})
	<-got
	require.Equal(t, before, l.Progress(), "the server has shown no life")
	answer <- ":1\r\n"
	b.read(within(t, patience))
	require.NoError(t, b.call.Wait(within(t, patience)))
	require.NotEqual(t, before, l.Progress())
}
