package wire

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// One caller leaves; the one behind it on the lane gets its own reply, and the
// late one is nobody's.
func TestNeighboursOfAnAbandonedBatch(t *testing.T) {
	addr, got, answer := gated(t)
	l := dial(t, addr)
	quieten(t, l)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	first := newTrip([]string{"ECHO", "1"})
	firstDone := start(ctx, l, first)
	<-got
	second := newTrip([]string{"ECHO", "2"})
	secondDone := start(within(t, patience), l, second)
	until(t, "both are in flight", func() bool { return l.InFlight() == 2 })
	leave()
	await(t, "the caller that left", firstDone)
	_, err := first.Reply(0)
	wantOutcome(t, err, redislanes.ErrUnknownOutcome)

	answer <- "$4\r\nlate\r\n"
	<-got
	answer <- "$4\r\nmine\r\n"
	await(t, "the neighbour", secondDone)
	require.Equal(t, []string{"$4\r\nmine\r\n"}, second.texts())
	require.Equal(t, []string{""}, first.texts())
	require.NoError(t, l.ping(t))
	require.Zero(t, l.InFlight())
}

// Under the race detector: replies go on arriving while callers that have left
// read every byte of what they have.
func TestNothingWritesToAnAbandonedBatch(t *testing.T) {
	release := make(chan struct{}, 1)
	addr := scripted(t, func(p *peer) {
		for p.take(3) {
			p.send("$3\r\none\r\n+tw")
			<-release
			p.send("o\r\n:3\r\n")
		}
	})
	l := dial(t, addr)
	b := new(Batch)
	for range 100 {
		b.fill(NewCall(), []string{"GET", "1"}, []string{"GET", "2"}, []string{"GET", "3"})
		ctx, leave := context.WithCancel(t.Context())
		done := start(ctx, l, b)
		until(t, "the first reply is there", func() bool {
			l.replyMu.Lock()
			defer l.replyMu.Unlock()
			return len(b.buf) == len("$3\r\none\r\n+tw")
		})
		leave()
		await(t, "the caller", done)
		release <- struct{}{}
		require.Equal(t, []string{"$3\r\none\r\n", "", ""}, b.texts())
		for _, c := range b.buf {
			require.NotZero(t, c)
		}
		until(t, "the lane has done with it", func() bool { return l.InFlight() == 0 })
		require.Equal(t, []string{"$3\r\none\r\n", "", ""}, b.texts())
		b = new(Batch)
	}
	require.NoError(t, l.Err())
}
