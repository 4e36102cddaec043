package wire

import (
	"errors"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// Unmarshal decodes replies as radix does, without their attributes; nil discards
// them, but for errors. An error of the server is a [SaidError]; any other error is a
// [redislanes.DecodeError].
func Unmarshal(replies []byte, into any) error {
	replies = resp.WithoutAttributes(replies)
	if into == nil {
		return firstError(replies)
	}
	c := codecs.Get().(*codec)
	defer codecs.Put(c)
	used, err := c.decode(replies, into)
	if err == nil {
		if i, failed, said := failedIn(into); failed && !said {
			return decodeError(nthReply(replies, i), i, into, errors.New("see radix.Pipeline"))
		}
		return nil
	}
	reply, i := replyAt(replies, used)
	return withoutValues(err, decodeError(reply, i, into, err))
}

// firstError returns the first of the replies that is an error of the server.
func firstError(replies []byte) error {
	for first, rest := resp.Cut(replies); first != nil; first, rest = resp.Cut(rest) {
		if resp.IsError(first) {
			return radixresp.ErrConnUsable{Err: Said(resp.ErrorText(first))}
		}
	}
	return nil
}

// withoutValues returns an error of radix's decoding without arguments and values: the
// server's error if it is one, and otherwise failed, with err inside.
func withoutValues(err error, failed *redislanes.DecodeError) error {
	var simple resp3.SimpleError
	var blob resp3.BlobError
	switch {
	case errors.As(err, &simple):
		return radixresp.ErrConnUsable{Err: Said(simple.S)}
	case errors.As(err, &blob):
		return radixresp.ErrConnUsable{Err: Said(blob.B)}
	}
	failed.Cause = err
	return failed
}

func decodeError(reply []byte, i int, into any, err error) *redislanes.DecodeError {
	e := &redislanes.DecodeError{Into: receiverType(into, i), Index: i, Cause: err}
	if len(reply) > 0 {
		e.Kind = reply[0]
	}
	return e
}

// replyAt returns the reply that the used-th byte belongs to, and its number.
func replyAt(replies []byte, used int) (reply []byte, i int) {
	for first, rest := resp.Cut(replies); first != nil; first, rest = resp.Cut(rest) {
		if used -= len(first); used <= 0 {
			return first, i
		}
		i++
	}
	return nil, i
}

func nthReply(replies []byte, i int) []byte {
	first, rest := resp.Cut(replies)
	for ; i > 0 && first != nil; i-- {
		first, rest = resp.Cut(rest)
	}
	return first
}
