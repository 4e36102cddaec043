package wire

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/resp"
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

// Flush writes what was enqueued on the lanes of the call's batches, where their caller has got the role
// of the writer. If a lane is busy it lets other goroutines run first, once for all lanes, so that they
// can enqueue too and share the write.
func (c *Call) Flush() {
	for _, b := range c.mine {
		if b.flush && b.lane.gauge.InFlight.Load() > 1 {
			runtime.Gosched()
			break
		}
	}
	for _, b := range c.mine {
		if b.flush {
			b.flush = false
			b.lane.Flush()
		}
	}
}

// Read lets the caller read the replies to its batches on lanes that were idle when they were enqueued and
// that nobody needs meanwhile. It begins with the batch that was written
// last: while the caller waits for that, the replies to the others arrive. If a reply is late, the
// lanes' background readers read the rest, so that silent servers are not waited for one by one.
// It waits for lastLook for what they find, also if the context has ended.
func (c *Call) Read(ctx context.Context) {
	late, left := false, 0
	for _, b := range slices.Backward(c.mine) {
		switch {
		case late:
			b.leaveReading()
			left++
		case b.reads:
			b.reads = false
			late = b.lane.readOwn(ctx, b)
		}
	}
	c.mine = c.mine[:0]
	if left > 0 {
		c.look()
	}
}

// look waits for lastLook for replies that have arrived while the caller read from another lane.
func (c *Call) look() {
	over := time.NewTimer(lastLook)
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

// More prepares the Call for n batches more, while others may be pending.
func (c *Call) More(n int) { c.pending.Add(int32(n)) }

// Wait returns when all batches are complete or the context has ended, with
// the context's error in the latter case.
func (c *Call) Wait(ctx context.Context) error {
	for left := c.pending.Add(-1); left > 0; left = c.pending.Load() {
		if _, err := c.sleep(ctx, nil); err != nil {
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
		if fired, err = c.sleep(ctx, due); fired || err != nil {
			break
		}
	}
	return c.pending.Add(1) == 1, err
}

// sleep waits until there may be something new, or due fires, which may be nil.
func (c *Call) sleep(ctx context.Context, due <-chan time.Time) (fired bool, err error) {
	own, outer := deadline.Channels(ctx)
	if own == nil && due == nil {
		<-c.done
		return false, nil
	}
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

// complete notes the batch's end. The batch may be in use again afterwards.
func (c *Call) complete(b *Batch, now time.Duration) {
	if b.since != 0 {
		b.took = now - b.since
	}
	if b.errors == 0 && b.notSent == nil {
		b.outcome.Store(endedWell)
		if c.pending.Add(-1) == 0 {
			notify(c.done)
		}
		return
	}
	if b.errors > 0 && b.lane.Errors != nil && !b.uncounted {
		b.lane.Errors.add(b)
	}
	b.outcome.Store(endedBadly)
	c.alarm.Store(true)
	c.pending.Add(-1)
	notify(c.done)
}

// A Submitter takes batches: a lane or a pool.
type Submitter interface {
	// Submit enqueues the batch, lets it wait for room, or fails it, without
	// blocking. Only if mine is set must the caller, who will wait for the
	// batch, note it with [Call.Mine], and call Flush and Read before it waits.
	Submit(b *Batch) (mine bool)
	// Abandon gives up waiting for a batch that was submitted.
	Abandon(b *Batch, cause error)
	// Address returns the server's address, host:port.
	Address() string
}

// RoundTrip submits one batch and waits for its replies or the context's end.
func RoundTrip(ctx context.Context, to Submitter, b *Batch) {
	if ctx == nil {
		b.Refuse(to.Address(), cause.ErrNilContext)
		return
	}
	if err := ctx.Err(); err != nil {
		b.Refuse(to.Address(), err)
		return
	}
	b.call.Begin(1)
	if to.Submit(b) {
		b.call.Mine(b)
		b.call.Flush()
		b.call.Read(ctx)
	}
	if err := b.call.Wait(ctx); err != nil {
		to.Abandon(b, err)
	}
}

// Question returns a batch of commands of the client's own, such as PING, with its own Call for
// one trip. No [ErrorCount] counts it.
func Question(commands ...[]string) *Batch {
	b, encoded := new(Batch), []byte(nil)
	for _, c := range commands {
		encoded = resp.AppendCommand(encoded, c[0], c[1:]...)
	}
	b.Reset(NewCall(), encoded)
	_, _ = Commands(encoded, b.Add)
	b.call.Begin(1)
	b.uncounted = true
	return b
}

// Ask sends commands of the client's own and returns the batch with their replies, or with why
// there are none.
func Ask(ctx context.Context, to Submitter, commands ...[]string) *Batch {
	b := Question(commands...)
	RoundTrip(ctx, to, b)
	return b
}

// notify makes the next receive from the channel succeed.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// epoch is what Now counts from.
var epoch = time.Now()

// Now returns how much time has passed since some moment before the first call. It
// costs half of what time.Now does, which reads two clocks.
func Now() time.Duration { return time.Since(epoch) }
