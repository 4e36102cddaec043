package wire

import (
	"bytes"
	"sync/atomic"

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

// An ErrorCount counts error replies by their code, of all lanes that it was given
// to ([Lane.CountErrors]). The zero value is ready to use; its methods are safe for
// concurrent use.
type ErrorCount struct {
	of [len(errorCodes)]atomic.Uint64
}

// ByCode returns how many there were of each code of which there were any.
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
		if !resp.IsError(reply) {
			continue
		}
		if text := resp.ErrorText(reply); !resp.IsRefusal(text) {
			c.of[codeIndex(text)].Add(1)
		}
	}
}

// CountErrors makes the error replies that arrive from now on part of the count, but
// for those to uncounted batches, those that nobody waits for any more, and those that
// stand for a reply beyond a limit. It must be called before the first batch is enqueued.
func (l *Lane) CountErrors(count *ErrorCount) { l.errorReplies = count }

// complete tells the batch's caller that it is complete, who may use it again from
// then on.
func (l *Lane) complete(b *Batch) {
	if b.errors > 0 && l.errorReplies != nil && !b.uncounted { // a batch without errors costs no more than the first
		l.errorReplies.add(b)
	}
	b.call.complete(b)
}
