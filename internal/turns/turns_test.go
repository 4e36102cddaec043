package turns_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/turns"
)

// TestLatch: a caller waits for all of its hits, and may be used again.
func TestLatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l turns.Latch
		for range 2 {
			l.Begin()
			require.NoError(t, l.Wait(t.Context()), "no hit")
			l.Begin()
			for i := range 3 {
				l.Add()
				time.AfterFunc(time.Duration(i)*time.Second, l.Ended)
			}
			began := time.Now()
			require.NoError(t, l.Wait(t.Context()))
			require.Equal(t, 2*time.Second, time.Since(began))
		}
		l.Begin()
		l.Add()
		time.AfterFunc(3*time.Second, l.Ended)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, l.Wait(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		l.Rest()
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// TestGather: it goes on while more hits come, and ends although they never stop.
func TestGather(t *testing.T) {
	asked := 0
	turns.Gather(func() int { asked++; return min(asked, 5) })
	require.Equal(t, 6, asked)
	asked = 0
	turns.Gather(func() int { asked++; return asked })
	require.Less(t, asked, 1000)
}
