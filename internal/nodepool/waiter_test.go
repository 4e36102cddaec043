package nodepool

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// TestLeavingTheQueueIsCheap: it costs the last of a long queue as much as the
// first, since it is done under the lock.
func TestLeavingTheQueueIsCheap(t *testing.T) {
	t.Parallel()
	options := Options{MaxWaiters: 1 << 20, StallTimeout: time.Hour}
	dialer := lanes.Dialer{NetDial: silentDial, Timeout: time.Hour} // the dial lasts as long as the test
	p, err := New(Fixed{Size: 1, Options: options}, dialer, "simulated:1", nil)
	require.NoError(t, err)
	defer p.Close()
	const users = 30_000
	leave := func(backwards bool) (took time.Duration) {
		waiting := make([]*waiter, users)
		for i := range waiting {
			_, waiting[i], err = exclusiveIn(p).takeOrWait()
			require.NoError(t, err)
		}
		if backwards {
			slices.Reverse(waiting)
		}
		began := time.Now()
		for _, w := range waiting {
			if err := exclusiveIn(p).leaveQueue(w, context.DeadlineExceeded); err == nil {
				t.Error("it left without an error")
			}
		}
		return time.Since(began)
	}
	cheap := false
	for i := 0; i < 5 && !cheap; i++ { // others may take the processors at any time
		first := leave(false)
		last := leave(true)
		t.Logf("in order %v, backwards %v", first, last)
		cheap = last < 5*first+time.Second/5
	}
	require.True(t, cheap, "the last one to come looks through all others")
	require.Zero(t, p.Stats().Waiters)
}

// silentDial gets no answer.
func silentDial(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
