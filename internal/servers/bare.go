package servers

import (
	"context"
	"sync"
	"time"
)

// BareWaits is how many goroutines [StartBareWaits] starts.
const BareWaits = 8

// bareWait is long enough for a busy machine to do something else meanwhile.
const bareWait = 10 * time.Millisecond

// StartBareWaits starts goroutines that do nothing but wait for deadlines of
// contexts, one after the other, each 10 ms away, and note how late they came
// back: what calls overrun by as much is the machine's doing. Each of them, 0 to BareWaits-1,
// calls note from its own goroutine. When stop returns, all have ended; it may
// be called more than once.
func StartBareWaits(note func(i int, deadline, back time.Time)) (stop func()) {
	done := make(chan struct{})
	var waits sync.WaitGroup
	for i := range BareWaits {
		waits.Go(func() {
			for ended := false; !ended; {
				deadline := time.Now().Add(bareWait)
				ctx, cancel := context.WithDeadline(context.Background(), deadline)
				<-ctx.Done()
				note(i, deadline, time.Now())
				cancel()
				select {
				case <-done:
					ended = true
				default:
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		waits.Wait()
	})
}
