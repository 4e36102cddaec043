package wire

import (
	"iter"
	"sync/atomic"
	"time"
)

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

	// These are set before the batch is submitted. Reset sets them to -1 and false.
	Key   int64 // for strategies such as lanes.ByKey; negative: none
	Slow  bool  // it travels on lanes for slow commands, where there are any
	Alone bool  // it travels over a connection that no other batch uses meanwhile

	uncounted bool // such as a PING: no [ErrorCount] counts it

	flush bool // the caller got the role of the writer with this batch
	reads bool // the caller got a claim on the role of the reader

	// Waiter is the batch's latest place in a pool's queue. The pool sets and reads it on the goroutine
	// of the batch's caller. Reset clears it.
	Waiter any

	start uint64 // where the batch begins in the lane's stream

	handed  int           // how many commands were handed to the socket whole, if some have no reply
	unknown error         // of these commands, with ErrUnknownOutcome
	took    time.Duration // once it is complete, if it is measured

	// The fields that are used when replies arrive are on two cache lines. With many callers they have
	// left the processor's cache by then.
	ends []int // for each command, the bytes of the batch up to its end

	// The lane's replyMu guards these until the batch has ended or is abandoned.
	answered int // replies that arrived, also after the batch was abandoned
	buf      []byte
	replies  []int // for each reply, its end in buf
	errors   int32 // replies that are errors
	phase    phase
	outcome  atomic.Uint32 // endedWell or endedBadly, once the caller may know; else 0

	began   time.Duration // when it was enqueued, see Now; 0 unless it is timed
	since   time.Duration // from when on it is measured, see Now; 0: it is not
	notSent error         // of the commands that were not handed, with ErrNotSent; nil: all commands have replies
}

// A phase says what may still happen to a batch.
type phase uint8

const (
	underWay  phase = iota // replies may arrive
	ended                  // it has all its replies, or has failed
	abandoned              // its caller has left, and its replies are dropped
	cutOff                 // ended, and the reply behind the last one was the lane's next when the lane ended
)

// The outcomes of a batch that is complete.
const (
	endedWell  = 1
	endedBadly = 2 // with an error reply, or without all replies
)

// Reset empties the batch for the commands of call's next trip. Commands are
// added as parts of arena, which must not change until the trip is over.
func (b *Batch) Reset(call *Call, arena []byte) {
	*b = Batch{
		call: call, arena: arena, Key: -1, buf: Kept(b.buf, KeptBytes),
		runs: Kept(b.runs, KeptCommands), ends: Kept(b.ends, KeptCommands), replies: Kept(b.replies, KeptCommands),
	}
}

// Measure makes it known, once the batch is complete, how long it took since the
// given time, which is one of [Now]. It must be called before the batch is submitted;
// Reset takes it away.
func (b *Batch) Measure(since time.Duration) { b.since = max(1, since) }

// Took returns how long the batch took to be complete, or how long it has taken up
// to now, if it was abandoned. It must have been [Batch.Measure]d.
func (b *Batch) Took() time.Duration {
	if b.Complete() {
		return b.took
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
	b.ends = append(b.ends, b.Size()+size)
}

// Each yields every encoded command, at any time until Reset. arena is the memory that the
// commands were added from, which the caller still has.
func (b *Batch) Each(arena []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		next, before := 0, 0
		for _, r := range b.runs { // no command is in two of them
			for from := r.from; from < r.to; next++ {
				to := from + b.ends[next] - before
				if !yield(arena[from:to]) {
					return
				}
				from, before = to, b.ends[next]
			}
		}
	}
}

// Len returns the number of commands.
func (b *Batch) Len() int { return len(b.ends) }

// ReplySize returns how many bytes the replies have that arrived; like [Batch.Reply],
// it may be called once the trip is over.
func (b *Batch) ReplySize() int {
	if n := len(b.replies); n > 0 {
		return b.replies[n-1]
	}
	return 0
}

// Replies returns all replies as they came, one behind the other. As [Batch.Reply], it may be
// called once the trip is over.
func (b *Batch) Replies() []byte { return b.buf[:b.ReplySize()] }

// Errors returns how many of the replies are errors of the server.
func (b *Batch) Errors() int { return int(b.errors) }

// Failed reports whether there are commands without a reply.
func (b *Batch) Failed() bool { return b.notSent != nil }

// HasError reports whether the batch is complete, and has an error reply or a
// command without a reply. It may be called while the batch is in flight, by
// the goroutine that waits for it; see [Call.Next].
func (b *Batch) HasError() bool { return b.outcome.Load() == endedBadly }

// Complete reports whether the batch has ended. As HasError, it may be called while
// the batch is in flight.
func (b *Batch) Complete() bool { return b.outcome.Load() != 0 }

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

// Due reports whether the connection ended while the i-th command's reply was the next one that it
// owed. The server, or what is in front of it, may have ended the connection because of that command.
func (b *Batch) Due(i int) bool { return b.phase == cutOff && i == len(b.replies) }

// Events returns the [Owner].Events of the lane that has taken the batch; nil if none has. Only
// the goroutine that has submitted the batch may call it.
func (b *Batch) Events() Events {
	if b.lane == nil {
		return nil
	}
	return b.lane.Events
}

// leaveReading leaves the replies to the lane's background reader.
func (b *Batch) leaveReading() {
	if b.reads {
		b.reads = false
		b.lane.resign(b)
	}
}

// FlushCall writes what else the batch's caller has enqueued and not written. A pool that was
// given the batch by its caller does so before it calls a user's function: nobody's bytes wait
// for one.
func (b *Batch) FlushCall() { b.call.Flush() }

// Abandon gives up waiting, because of cause, for what has not arrived. The
// replies that have arrived can be read. The lane goes on with what it holds
// of the batch; the batch and its Call must not be used for another trip.
func (b *Batch) Abandon(cause error) {
	switch {
	case b.lane != nil:
		b.lane.abandon(b, cause)
	case b.phase == underWay:
		b.fail("", cause, 0)
	}
}

// Fail ends a submitted batch that no lane has taken: all its commands were
// not sent.
func (b *Batch) Fail(addr string, cause error) {
	b.fail(addr, cause, 0)
	b.call.complete(b, Now())
}

// Refuse ends a batch that is not going to be submitted.
func (b *Batch) Refuse(addr string, cause error) { b.fail(addr, cause, 0) }

// fail notes the outcome of the commands without a reply. It is unknown for commands among the
// first handed ones of the batch. The others were not sent.
func (b *Batch) fail(addr string, cause error, handed int) {
	b.phase, b.handed, b.arena = max(b.phase, ended), handed, nil
	b.notSent = NotSent(addr, cause)
	if handed > 0 {
		b.unknown = Unknown(addr, cause)
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

// Size returns how many bytes the commands have.
func (b *Batch) Size() int {
	if n := len(b.ends); n > 0 {
		return b.ends[n-1]
	}
	return 0
}

// Kept returns the memory for its next use, empty; nil if it is for more than most elements.
func Kept[T any](memory []T, most int) []T {
	if cap(memory) > most {
		return nil
	}
	return memory[:0]
}
