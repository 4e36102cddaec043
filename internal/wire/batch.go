package wire

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/deadline"
)

// A Call waits for the batches of one request. It wakes its caller once,
// however many batches there are, unless one of them ends in trouble: with an
// error reply, or with a command that has no reply. Make it with [NewCall].
//
// The order of use: Begin, enqueue the batches, [Flush], Batch.Read, Wait or
// Next; after Next also More and so on. One goroutine does all of this; the
// lanes complete the batches from theirs. A Call whose Wait or Next returned an
// error must not be used again, nor any of its batches be added to: lanes may
// still hold them.
type Call struct {
	pending atomic.Int32
	alarm   atomic.Bool   // a batch has ended in trouble since Next looked
	early   atomic.Bool   // each batch that ends is as one in trouble
	done    chan struct{} // tells the caller to look again; may do so for nothing
}

// NewCall returns a Call that can be used many times in turn.
func NewCall() *Call { return &Call{done: make(chan struct{}, 1)} }

// Begin prepares the Call for n batches. The caller counts as one more until
// it waits, so that batches that it reads itself need no wake-up.
func (c *Call) Begin(n int) {
	c.pending.Store(int32(n) + 1)
	c.alarm.Store(false)
	c.early.Store(false)
}

// Early makes Next return for each batch that ends, and once for those that have
// ended already. Anybody may call it.
func (c *Call) Early() {
	if !c.early.Swap(true) {
		c.alarm.Store(true)
		c.wake()
	}
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

// Complete reports whether all batches are complete, before the caller waits.
func (c *Call) Complete() bool { return c.pending.Load() <= 1 }

// Next is Wait, but also returns when a batch has ended in trouble since the
// last Next, which Batch.Troubled tells, or any batch after Early, or when due fires,
// which may be nil.
// complete says that all batches are complete. The caller counts as one more
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
	trouble := b.errors > 0 || b.err != nil
	if b.measured && b.took.Load() == 0 {
		b.took.Store(max(1, int64(Now()-b.since)))
	}
	if trouble {
		b.troubled.Store(true)
	}
	b.complete.Store(true)
	if trouble = trouble || c.early.Load(); trouble {
		c.alarm.Store(true)
	}
	if c.pending.Add(-1) == 0 || trouble {
		c.wake()
	}
}

type span struct{ from, to int }

// A Batch is the commands that one caller sends to one server in one trip, and
// their replies. The zero value is empty; it is used again after Reset, unless
// it was abandoned.
type Batch struct {
	next  *Batch
	call  *Call
	lane  *Lane
	arena []byte // the caller's; only valid until the lane has copied the runs
	runs  []span // parts of arena, neighbours merged
	ends  []int  // for each command, the bytes of the batch up to its end
	key   int64  // for strategies; negative: none
	slow  bool   // travels on lanes for slow commands, where there are any

	uncounted bool // is no part of the lanes' load
	counted   bool // is part of it now

	start uint64    // where the batch begins in the lane's stream
	began time.Time // when it was enqueued; zero unless it is timed
	flush bool      // the caller got the role of the writer with this batch
	reads bool      // the caller got a claim on the role of the reader

	// The lane's replyMu guards these until the batch is done or abandoned.
	buf       []byte
	spare     int   // trips in a row that needed little of what is kept
	replies   []int // for each reply, its end in buf
	answered  int   // replies that arrived, also after the batch was abandoned
	errors    int   // replies that are errors
	done      bool
	abandoned bool

	complete atomic.Bool
	troubled atomic.Bool // it is complete, with an error or without all replies

	measured bool          // it is to be known how long it takes
	since    time.Duration // from when on, see Now
	took     atomic.Int64  // nanoseconds, once it is complete

	err     error // why commands behind the last reply have none
	handed  int   // how many commands were handed to the socket whole, if err is set
	unknown error // err with ErrUnknownOutcome
	notSent error // err with ErrNotSent
}

// SpareTrips is after how many trips in a row that needed less than a quarter of
// it a large memory is given up.
const SpareTrips = 8

// Reset empties the batch for the commands of call's next trip. Commands are
// added as parts of arena, which must not change until the trip is over.
func (b *Batch) Reset(call *Call, arena []byte) {
	if cap(b.buf) > largeBuffer || cap(b.ends) > manyCommands {
		b.giveUp()
	}
	*b = Batch{
		call: call, arena: arena, key: -1, spare: b.spare,
		runs: b.runs[:0], ends: b.ends[:0], buf: b.buf[:0], replies: b.replies[:0],
	}
}

// manyCommands is how many commands a batch may keep memory for however few it
// has.
const manyCommands = 4096

// giveUp gives up what the last trips needed little of.
func (b *Batch) giveUp() {
	buf := cap(b.buf) > largeBuffer && len(b.buf) < cap(b.buf)/4
	list := cap(b.ends) > manyCommands && len(b.ends) < cap(b.ends)/4
	if b.spare++; !buf && !list {
		b.spare = 0
	}
	if b.spare < SpareTrips {
		return
	}
	if b.spare = 0; buf {
		b.buf = nil
	}
	if list {
		b.runs, b.ends, b.replies = nil, nil, nil
	}
}

// SetKey gives the batch a number for strategies such as lanes.ByKey, before it is
// submitted; Reset takes it away.
func (b *Batch) SetKey(key int64) { b.key = key }

// Key returns the number that SetKey gave the batch; negative: none.
func (b *Batch) Key() int64 { return b.key }

// SetSlow says whether the batch holds slow commands, before it is submitted: a
// pool that has lanes for those puts it on one of them. Reset makes it fast.
func (b *Batch) SetSlow(slow bool) { b.slow = slow }

// Slow reports whether the batch holds slow commands.
func (b *Batch) Slow() bool { return b.slow }

// Uncounted makes the batch, such as a PING, no part of the load that the lanes count
// (see [Lane.CountIn]), and its error replies no part of theirs ([Lane.CountErrors]),
// before it is submitted; Reset takes that away.
func (b *Batch) Uncounted() { b.uncounted = true }

// Measure makes it known, once the batch is complete, how long it took since the
// given time, which is one of [Now]. It must be called before the batch is submitted;
// Reset takes it away.
func (b *Batch) Measure(since time.Duration) { b.measured, b.since = true, since }

// Took returns how long the batch took to be complete, or how long it has taken up
// to now, if it was abandoned. It must have been [Batch.Measure]d.
func (b *Batch) Took() time.Duration {
	if took := b.took.Load(); took > 0 {
		return time.Duration(took)
	}
	return Now() - b.since
}

// Add appends the command encoded in arena[from:to].
func (b *Batch) Add(from, to int) {
	size := to - from
	if n := len(b.runs); n > 0 && b.runs[n-1].to == from {
		b.runs[n-1].to = to
	} else {
		b.runs = append(b.runs, span{from, to})
	}
	b.ends = append(b.ends, b.size()+size)
}

// Each calls f with every encoded command, before the batch is submitted. What
// f gets is the caller's memory.
func (b *Batch) Each(f func(command []byte)) { b.EachIn(b.arena, f) }

// EachIn is Each at any time until Reset, for a caller that still has the memory that
// the commands were added from.
func (b *Batch) EachIn(arena []byte, f func(command []byte)) {
	next, before := 0, 0
	for _, r := range b.runs { // no command is in two of them
		for from := r.from; from < r.to; next++ {
			to := from + b.ends[next] - before
			f(arena[from:to])
			from, before = to, b.ends[next]
		}
	}
}

// Len returns the number of commands.
func (b *Batch) Len() int { return len(b.ends) }

// Size returns how many bytes the commands have.
func (b *Batch) Size() int { return b.size() }

// ReplySize returns how many bytes the replies have that arrived; like [Batch.Reply],
// it may be called once the trip is over.
func (b *Batch) ReplySize() int {
	if n := len(b.replies); n > 0 {
		return b.replies[n-1]
	}
	return 0
}

// Errors returns how many of the replies are errors of the server.
func (b *Batch) Errors() int { return b.errors }

// Failed reports whether there are commands without a reply.
func (b *Batch) Failed() bool { return b.err != nil }

// Troubled reports whether the batch is complete, and has an error reply or a
// command without a reply. It may be called while the batch is in flight, by
// the goroutine that waits for it; see [Call.Next].
func (b *Batch) Troubled() bool { return b.troubled.Load() }

// Complete reports whether the batch has ended. As Troubled, it may be called while
// the batch is in flight.
func (b *Batch) Complete() bool { return b.complete.Load() }

// Reply returns the i-th command's reply as it came, valid until Reset, or an
// error that says what became of the command. It may be called once the trip
// is over.
func (b *Batch) Reply(i int) ([]byte, error) {
	if i < len(b.replies) {
		from := 0
		if i > 0 {
			from = b.replies[i-1]
		}
		return b.buf[from:b.replies[i]:b.replies[i]], nil
	}
	if i < b.handed {
		return nil, b.unknown
	}
	return nil, b.notSent
}

// Read lets the caller read its own replies, if the lane was idle when the
// batch was enqueued and nobody needs the lane meanwhile. It returns when they
// have arrived or the lane's background reader has taken over, in a few
// milliseconds at most.
func (b *Batch) Read(ctx context.Context) {
	if b.reads {
		b.reads = false
		b.lane.readOwn(ctx, b)
	}
}

// Abandon gives up waiting, because of cause, for what has not arrived. The
// replies that have arrived can be read. The lane goes on with what it holds
// of the batch; the batch and its Call must not be used for another trip.
func (b *Batch) Abandon(cause error) {
	switch {
	case b.lane != nil:
		b.lane.abandon(b, cause)
	case !b.done:
		b.fail("", cause, 0)
	}
}

// Fail ends a submitted batch that no lane has taken: all its commands were
// not sent.
func (b *Batch) Fail(addr string, cause error) {
	b.fail(addr, cause, 0)
	b.call.complete(b)
}

// Refuse ends a batch that is not going to be submitted.
func (b *Batch) Refuse(addr string, cause error) { b.fail(addr, cause, 0) }

// fail notes the outcome of the commands without a reply, of which the first
// handed (counted from the batch's first) have an unknown one.
func (b *Batch) fail(addr string, cause error, handed int) {
	b.done, b.err, b.handed, b.arena = true, cause, handed, nil
	b.notSent = NotSent(addr, cause)
	if handed > 0 {
		b.unknown = &redislanes.OutcomeError{Addr: addr, Outcome: redislanes.ErrUnknownOutcome, Cause: cause}
	}
}

// handedAt returns how many of the commands end within the first stream bytes
// of the lane's stream.
func (b *Batch) handedAt(stream uint64) int {
	n := 0
	for n < len(b.ends) && b.start+uint64(b.ends[n]) <= stream {
		n++
	}
	return n
}

// store takes over bytes of replies.
func (b *Batch) store(p []byte) {
	if !b.abandoned {
		b.buf = append(b.buf, p...)
	}
}

// cut removes what was stored behind the last complete reply.
func (b *Batch) cut() {
	if !b.abandoned {
		end := 0
		if n := len(b.replies); n > 0 {
			end = b.replies[n-1]
		}
		b.buf = b.buf[:end]
	}
}

// answer notes that the reply that ends at the given place in buf is complete.
func (b *Batch) answer(end int, kind byte) {
	b.answered++
	if b.abandoned {
		return
	}
	b.replies = append(b.replies, end)
	if kind == '-' || kind == '!' {
		b.errors++
	}
}

func (b *Batch) appendTo(w []byte) []byte {
	for _, r := range b.runs {
		w = append(w, b.arena[r.from:r.to]...)
	}
	return w
}

func (b *Batch) size() int {
	if n := len(b.ends); n > 0 {
		return b.ends[n-1]
	}
	return 0
}
