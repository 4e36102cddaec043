package engine_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/wire"
)

// What a request has grown for once it gives back when it is not needed.
func TestRequestsShrink(t *testing.T) {
	var r engine.Request
	fill := func(n int) int {
		r.Reset()
		r.Commit(append(r.Buffer(), make([]byte, n)...), 0)
		return cap(r.Buffer())
	}
	require.GreaterOrEqual(t, fill(1<<20), 1<<20)
	require.GreaterOrEqual(t, fill(1<<20), 1<<20)
	for range wire.SpareUses {
		require.GreaterOrEqual(t, fill(100), 1<<20, "not at once")
		fill(1 << 20)
	}
	for range wire.SpareUses {
		fill(100)
	}
	require.Less(t, fill(100), 1<<10)
}

// What is kept for each command goes with it. Not parallel: it measures the heap.
func TestRequestsShrinkByCommands(t *testing.T) {
	inUse := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	var r engine.Request
	fill := func(n int) {
		r.Reset()
		for range n {
			r.Commit(append(r.Buffer(), "*1\r\n$4\r\nPING\r\n"...), 0)
		}
	}
	fill(500_000)
	for range wire.SpareUses + 1 {
		fill(1)
	}
	held := inUse() - before
	require.Less(t, held, int64(1<<20))
	runtime.KeepAlive(&r)
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
