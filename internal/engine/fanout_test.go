package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/redistest"
)

// TestGoroutinesThatEndWithTheContext: what a goroutine has waited for with a context
// that has ended is not used again, also if it has all replies: a lane may be about
// to say so.
func TestGoroutinesThatEndWithTheContext(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	var cancel atomic.Value
	cancel.Store(context.CancelFunc(func() {}))
	e.Inject(1, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			cancel.Load().(context.CancelFunc)() // and the reply is on its way
		}
		return ""
	})
	client, err := Config{}.New(t.Context(), e.Addrs())
	require.NoError(t, err)
	defer client.Close()
	var r Request
	keys := redistest.KeysInSlots(2, "k")
	for range 300 {
		ctx, stop := context.WithCancel(t.Context())
		cancel.Store(stop)
		r.Reset()
		for _, key := range keys {
			r.Commit(resp.AppendCommand(r.Buffer(), "INCRBY", key, "1"), int32(slots.Of(key)))
		}
		require.NoError(t, client.Exec(ctx, &r, How{Goroutines: true}))
		require.Error(t, ctx.Err())
		require.True(t, r.flight.abandoned)
	}
}
