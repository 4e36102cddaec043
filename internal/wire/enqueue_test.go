package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

func begun(commands ...[]string) *Batch {
	b := newTrip(commands...)
	b.call.Begin(1)
	return b
}

func TestEnqueueKeepsTheLimit(t *testing.T) {
	addr, got, answer := gated(t)
	events := new(counting)
	l := dialWith(t, lanes.Dialer{}, addr, events)
	a, b, c := begun([]string{"ECHO", "a"}), begun([]string{"ECHO", "b"}), begun([]string{"ECHO", "c"})
	require.True(t, enqueue(l, a, 2))
	require.True(t, enqueue(l, b, 2))
	require.False(t, enqueue(l, c, 2))
	require.Equal(t, 2, l.InFlight())
	ok, flush := l.Enqueue(c, 2, false)
	require.False(t, ok || flush)

	Flush([]*Batch{a, b})
	for _, reply := range []string{":1\r\n", ":2\r\n"} {
		<-got
		answer <- reply
	}
	require.NoError(t, a.call.Wait(within(t, patience)))
	require.NoError(t, b.call.Wait(within(t, patience)))
	until(t, "the pool was told of room", func() bool { return events.answered.Load() > 0 })
	require.True(t, enqueue(l, c, 1))
	Flush([]*Batch{c})
	<-got
	answer <- ":3\r\n"
	c.read(within(t, patience))
	require.NoError(t, c.call.Wait(within(t, patience)))
	assert.Equal(t, []string{":3\r\n"}, c.texts())
}

func TestOneWriterFlushesForAll(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	a, b, c := begun([]string{"ECHO", "a"}), begun([]string{"ECHO", "b"}), begun([]string{"ECHO", "c"})
	ok, flush := l.Enqueue(a, 10, false)
	require.True(t, ok)
	require.True(t, flush, "nobody else writes")
	require.True(t, enqueue(l, b, 10))
	ok, flush = l.Enqueue(c, 10, false)
	require.True(t, ok)
	require.False(t, flush, "the first dispatcher has the role")
	Flush([]*Batch{b}) // has no duty
	require.False(t, l.idleWriter())

	l.Flush()
	require.True(t, l.idleWriter())
	for _, b := range []*Batch{a, b, c} {
		b.read(within(t, patience))
		require.NoError(t, b.call.Wait(within(t, patience)))
	}
	assert.Equal(t, []string{"$1\r\na\r\n", "$1\r\nb\r\n", "$1\r\nc\r\n"}, append(append(a.texts(), b.texts()...), c.texts()...))
}

func TestClosedLaneTakesNothing(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	require.NoError(t, l.Close())
	b := begun([]string{"PING"})
	require.False(t, enqueue(l, b, 10))
	ok, flush := l.Enqueue(b, 10, false)
	require.False(t, ok || flush)
	require.Zero(t, l.InFlight())
	require.False(t, l.Submit(b))
	require.NoError(t, b.call.Wait(t.Context()))
	_, err := b.Reply(0)
	wantOutcome(t, err, redislanes.ErrNotSent)
	require.ErrorIs(t, err, ErrClosed)
}
