package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/wire"
)

// TestRequestsShrink: what a large request needed is given back, and a small one's memory is used again.
func TestRequestsShrink(t *testing.T) {
	var r engine.Request
	fill := func(n int) int {
		r.Reset()
		r.Commit(append(r.Buffer(), make([]byte, n)...), 0)
		return cap(r.Buffer())
	}
	require.Greater(t, fill(2*wire.KeptBytes), wire.KeptBytes)
	require.Less(t, fill(100), 1<<10)
	require.GreaterOrEqual(t, fill(1<<16), 1<<16)
	require.GreaterOrEqual(t, fill(100), 1<<16)
}

// TestRequestMisuse: what was not executed has an error for a reply. Nothing of it panics.
func TestRequestMisuse(t *testing.T) {
	t.Parallel()
	const ping = "*1\r\n$4\r\nPING\r\n"
	var r engine.Request
	r.Commit(append(r.Buffer(), ping...), -1)
	_, err := r.Reply(0)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.ErrorContains(t, err, "PING: not sent: the request was not executed")
	require.Nil(t, r.Raw(0))
	require.Empty(t, r.Node(0))
	require.ErrorIs(t, new(engine.Client).Append(&r, nil), redislanes.ErrNotSent)

	r.Commit(append(r.Buffer(), ping...), -1)
	for i := range r.Len() {
		r.Mark(i, 0)
		_, err := r.Reply(i)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
	}
}
