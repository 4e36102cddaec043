package lanes

import (
	"errors"
	"fmt"
	"io"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/resp"
)

// A DecodeError says that a reply does not fit what it is to be decoded into.
// It does not print what went wrong, since radix's texts show the reply and, in
// a radix.Pipeline, the command; errors.Is and errors.As look into it.
type DecodeError struct {
	Into  string // the type of the receiver, such as *int
	Kind  byte   // the type byte of the reply; 0 if it is not known
	Index int    // which of several replies it was; the first is 0
	err   error
}

func (e *DecodeError) Error() string {
	what := ""
	if name := kinds[e.Kind]; name != "" {
		what = ", " + name + ","
	}
	return fmt.Sprintf("lanes: the reply%s cannot be decoded into %s", what, e.Into)
}

var kinds = map[byte]string{
	'+': "a string", '$': "a string", '=': "a string", ':': "an integer", ',': "a number", '(': "a big number",
	'#': "a boolean", '_': "null", '*': "an array", '%': "a map", '~': "a set", '>': "a push message",
}

// Is is part of errors.Is.
func (e *DecodeError) Is(target error) bool { return errors.Is(e.err, target) }

// As is part of errors.As.
func (e *DecodeError) As(target any) bool { return errors.As(e.err, target) }

// Format prints Error for every verb: fmt would print the fields for %#v.
func (e *DecodeError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }

// Unmarshal decodes replies as radix does, without their attributes; nil discards
// them, but for errors. An error of the server is a resp3.SimpleError without what
// it quotes of the command's arguments; any other error is a [DecodeError].
func Unmarshal(replies []byte, into any) error {
	replies = resp.WithoutAttributes(replies)
	if into == nil {
		return firstError(replies)
	}
	c := codecs.Get().(*codec)
	defer codecs.Put(c)
	used, err := c.decode(replies, into)
	if err == nil {
		if i, failed := failedIn(into); failed {
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
			return serverError(string(resp.ErrorText(first)))
		}
	}
	return nil
}

func serverError(text string) error {
	return radixresp.ErrConnUsable{Err: resp3.SimpleError{S: resp.Redact(text)}}
}

// withoutValues returns an error of radix's decoding without arguments and values: the
// server's error if it is one, and otherwise failed, with err inside.
func withoutValues(err error, failed *DecodeError) error {
	var simple resp3.SimpleError
	var blob resp3.BlobError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &simple):
		return serverError(simple.S)
	case errors.As(err, &blob):
		return serverError(string(blob.B))
	}
	failed.err = err
	return failed
}

func decodeError(reply []byte, i int, into any, err error) *DecodeError {
	e := &DecodeError{Into: receiverType(into, i), Index: i, err: err}
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
