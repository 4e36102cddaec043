package wire

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
)

// errorCodes are what error replies are counted by: the first words of their texts,
// from errors that all commands may get. It is a fixed list, so that no server adds to
// it. The last one stands for all others.
var errorCodes = [...]string{
	"ASK", "BUSY", "CLUSTERDOWN", "CROSSSLOT", "ERR", "EXECABORT", "LOADING", "MASTERDOWN", "MISCONF", "MOVED",
	"NOAUTH", "NOPERM", "NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN", "WRONGTYPE", "other",
}

const otherErrors = len(errorCodes) - 1

var errorCodeIndex = func() map[string]int {
	index := make(map[string]int)
	for i, code := range errorCodes[:otherErrors] {
		index[code] = i
	}
	return index
}()

// ErrorCodes returns what error replies are counted by.
func ErrorCodes() []string { return append([]string(nil), errorCodes[:]...) }

// ErrorCode returns what an error reply of the text is counted by. It does not
// allocate.
func ErrorCode(text []byte) string { return errorCodes[codeIndex(text)] }

func codeIndex(text []byte) int {
	code, _, _ := bytes.Cut(text, []byte(" "))
	if i, ok := errorCodeIndex[string(code)]; ok {
		return i
	}
	return otherErrors
}

// An ErrorCount counts error replies by their code, of all lanes of an [Owner]. It leaves out
// those to uncounted batches, and those that nobody waits for any more. The zero value is ready to use; its methods are safe for
// concurrent use.
type ErrorCount struct {
	of [len(errorCodes)]atomic.Uint64
}

// ByCode returns how many errors there were of each code, without the codes that had none.
func (c *ErrorCount) ByCode() map[string]uint64 {
	counts := make(map[string]uint64)
	for i := range c.of {
		if n := c.of[i].Load(); n > 0 {
			counts[errorCodes[i]] = n
		}
	}
	return counts
}

// add counts the error replies of a batch that is about to be complete.
func (c *ErrorCount) add(b *Batch) {
	for i := range b.replies {
		reply, _ := b.Reply(i)
		if resp.IsError(reply) {
			c.of[codeIndex(resp.ErrorText(reply))].Add(1)
		}
	}
}

// complete tells the batch's caller that it is complete. From then on the caller may use it again.
func (l *Lane) complete(b *Batch) {
	if b.errors > 0 && l.errorReplies != nil && !b.uncounted { // a batch without errors costs no more than the first
		l.errorReplies.add(b)
	}
	b.call.complete(b)
}

// epoch is what Now counts from.
var epoch = time.Now()

// Now returns how much time has passed since some moment before the first call. It
// costs half of what time.Now does, which reads two clocks.
func Now() time.Duration { return time.Since(epoch) }

// How long a lane's replies take is measured by one batch now and then, when somebody has
// asked for it: to read the clock for each would cost more than to enqueue it.

// Answered returns how many batches have ended, and how long they usually take from their being enqueued to
// their last reply; 0 if none was timed yet. It makes the lane time the next batch that it takes.
//
// A shorter time than usual is the usual one from now on: the connection can do it. A longer one may
// be that of one slow command, and changes it by an eighth of the difference.
func (l *Lane) Answered() (batches uint64, usual time.Duration) {
	l.armed.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken - uint64(l.gauge.InFlight.Load()), time.Duration(l.usual.Load())
}

// ForgetReplyTime makes the usual time unknown, after commands that took as long as their user liked.
func (l *Lane) ForgetReplyTime() { l.usual.Store(0) }

// stopClock notes how long the batch took, which has all its replies.
func (l *Lane) stopClock(b *Batch) {
	took := max(1, int64(Now()-b.began))
	if usual := l.usual.Load(); usual != 0 && took > usual {
		took = usual + (took-usual)/replyShare
	}
	l.usual.Store(took)
	if s := l.shortest.Load(); s == 0 || took < s {
		l.shortest.Store(took)
	}
}
