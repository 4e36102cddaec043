package wire

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/deadline"
)

// A Call waits for the batches of one request. It wakes its caller once,
// however many batches there are, unless one of them ends with an error reply or with a
// command that has no reply ([Batch.HasError]). Make it with [NewCall].
//
// The order of use: Begin, enqueue the batches, note those that are the caller's with Mine, Flush,
// Read, Wait or Next; after Next also More and so on. One goroutine does all of this; the
// lanes complete the batches from theirs. A Call whose Wait or Next returned an
// error must not be used again, nor any of its batches be added to: lanes may
// still hold them.
type Call struct {
	pending atomic.Int32
	alarm   atomic.Bool   // a batch has ended with an error since Next looked
	done    chan struct{} // tells the caller to look again; may do so for nothing
	mine    []*Batch      // that the caller is to write and to read
	lookBy  time.Duration // when its last look ends, see Now; 0: it has not begun
}

// NewCall returns a Call that can be used many times in turn.
func NewCall() *Call { return &Call{done: make(chan struct{}, 1)} }

// Begin prepares the Call for n batches. The caller counts as one more until
// it waits, so that batches that it reads itself need no wake-up.
func (c *Call) Begin(n int) {
	c.pending.Store(int32(n) + 1)
	c.alarm.Store(false)
	c.mine = c.mine[:0]
}

// Mine notes a batch that the caller is to write and to read. See [Submitter].
func (c *Call) Mine(b *Batch) { c.mine = append(c.mine, b) }

// Flush writes the batches that are the caller's to write.
func (c *Call) Flush() { Flush(c.mine) }

// Read lets the caller read the replies to its batches, beginning with the batch that was written
// last: while the caller waits for that, the replies to the others arrive. If a reply is late, the
// lanes' background readers read the rest, so that silent servers are not waited for one by one.
// At the context's end it looks once more, for lastLook, at all that is left.
func (c *Call) Read(ctx context.Context) {
	c.lookBy = 0
	late, left := false, 0
	for _, b := range slices.Backward(c.mine) {
		if late {
			b.leaveReading()
			left++
		} else {
			late = b.read(ctx)
		}
	}
	c.mine = c.mine[:0]
	if left > 0 {
		c.look()
	}
}

// ownLook begins the last look, if it has not begun, and returns how long the caller may read by
// itself: the second half of it is for the background readers of the other lanes.
func (c *Call) ownLook(now time.Duration) time.Duration {
	if c.lookBy == 0 {
		c.lookBy = now + lastLook
	}
	return c.lookBy - now - lastLook/2
}

// look waits for replies that have arrived, even if the context has ended: for lastLook, or until
// the last look ends if it has begun.
func (c *Call) look() {
	left := lastLook
	if c.lookBy != 0 {
		left = c.lookBy - Now()
	}
	over := time.NewTimer(left)
	defer over.Stop()
	for waiting := c.pending.Add(-1) > 0; waiting; {
		select {
		case <-c.done:
			waiting = c.pending.Load() > 0
		case <-over.C:
			waiting = false
		}
	}
	c.pending.Add(1)
}

// wake has the caller look again.
func (c *Call) wake() {
	select {
	case c.done <- struct{}{}:
	default:
	}
}

// More prepares the Call for n batches more, while others may be pending.
func (c *Call) More(n int) { c.pending.Add(int32(n)) }

// Wait returns when all batches are complete or the context has ended, with
// the context's error in the latter case.
func (c *Call) Wait(ctx context.Context) error {
	for left := c.pending.Add(-1); left > 0; left = c.pending.Load() {
		if err := c.sleep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Next is Wait, but also returns when a batch has ended with an error since the last Next
// ([Batch.HasError]), and when due fires, which may be nil. complete says that all batches are complete. The caller counts as one more
// again, also after an error: a second Next must not miss a batch for it.
func (c *Call) Next(ctx context.Context, due <-chan time.Time) (complete bool, err error) {
	for left := c.pending.Add(-1); left > 0 && !c.alarm.Swap(false); left = c.pending.Load() {
		fired := false
		if fired, err = c.sleepUntil(ctx, due); fired || err != nil {
			break
		}
	}
	return c.pending.Add(1) == 1, err
}

// sleepUntil is sleep until due fires, which may be nil.
func (c *Call) sleepUntil(ctx context.Context, due <-chan time.Time) (fired bool, err error) {
	if due == nil {
		return false, c.sleep(ctx)
	}
	own, outer := deadline.Channels(ctx)
	select {
	case <-c.done:
		return false, nil
	case <-due:
		return true, nil
	case <-own:
	case <-outer:
	}
	return false, ctx.Err()
}

// sleep waits until there may be something new.
func (c *Call) sleep(ctx context.Context) error {
	own, outer := deadline.Channels(ctx)
	if own == nil {
		<-c.done
		return nil
	}
	select {
	case <-c.done:
		return nil
	case <-own:
	case <-outer:
	}
	return ctx.Err()
}

// complete notes the batch's end. The batch may be in use again afterwards.
func (c *Call) complete(b *Batch) {
	failed := b.errors > 0 || b.err != nil
	if b.measured {
		b.took.Store(max(1, int64(Now()-b.since)))
	}
	if failed {
		b.hasError.Store(true)
	}
	b.complete.Store(true)
	if failed {
		c.alarm.Store(true)
	}
	if c.pending.Add(-1) == 0 || failed {
		c.wake()
	}
}
