package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
)

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
	require.False(t, b.measured)
}
