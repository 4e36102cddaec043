package bridge

import (
	"errors"
	"reflect"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// Unmarshal decodes replies as radix does; nil discards them, but for errors. An error of the server is
// a [cause.SaidError]; any other error is a [redislanes.ErrDecode].
func Unmarshal(replies []byte, into any) error {
	_, err := Decode(replies, into)
	return err
}

// Decode is [Unmarshal]. It also returns the number of the reply that the error is about.
func Decode(replies []byte, into any) (i int, err error) {
	if into == nil {
		return firstError(replies)
	}
	c := codecs.Get().(*codec)
	defer codecs.Put(c)
	used, err := c.decode(replies, into)
	if err != nil {
		reply, i := replyAt(replies, used)
		return i, withoutValues(err, decodeError(reply, i, into, err))
	}
	i, failed, said := failedIn(into)
	switch {
	case said:
		_, err = firstError(nthReply(replies, i))
	case failed:
		err = decodeError(nthReply(replies, i), i, into, errors.New("see radix.Pipeline"))
	}
	return i, err
}

// firstError returns the first of the replies that is an error of the server, and its number.
func firstError(replies []byte) (i int, err error) {
	for first, rest := resp.Cut(replies); first != nil; first, rest = resp.Cut(rest) {
		if resp.IsError(first) {
			return i, radixresp.ErrConnUsable{Err: cause.Said(resp.ErrorText(first))}
		}
		i++
	}
	return 0, nil
}

// UnmarshalNamed is [Unmarshal] with the replies of a server to a request. Its error names
// the command that it is about.
func UnmarshalNamed(request, replies []byte, into any, addr string) error {
	i, err := Decode(replies, into)
	if err == nil {
		return nil // no command is looked for
	}
	var command []byte
	_, _ = wire.Commands(request, func(from, to int) {
		if i--; i == -1 {
			command = request[from:to]
		}
	})
	return wire.NameCommand(err, command, addr)
}

// withoutValues returns an error of radix's decoding without arguments and values: the
// server's error if it is one, and otherwise failed, with err inside.
func withoutValues(err error, failed *cause.DecodeError) error {
	var simple resp3.SimpleError
	var blob resp3.BlobError
	switch {
	case errors.As(err, &simple):
		return radixresp.ErrConnUsable{Err: cause.Said(simple.S)}
	case errors.As(err, &blob):
		return radixresp.ErrConnUsable{Err: cause.Said(blob.B)}
	}
	failed.Cause = err
	return failed
}

func decodeError(reply []byte, i int, into any, err error) *cause.DecodeError {
	e := &cause.DecodeError{Into: receiverType(into, i), Index: i, Cause: err}
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

// Radix keeps to itself where a reply of an action goes: its commands are their
// own receivers, and a radix.Pipeline does not say which of its commands could not
// be decoded. So that errors can, these functions look for types, not values, in
// fields of radix's structs, and are content without them if there are none.

// receiverType returns the type that the i-th reply is decoded into.
func receiverType(into any, i int) string {
	name := described(reflect.TypeOf(into))
	v := structOf(reflect.ValueOf(into))
	if entries := v.field("mm"); entries.Kind() == reflect.Slice && i < entries.Len() {
		name, v = "what a radix.Pipeline holds", structOf(structure{entries.Index(i)}.field("unmarshalInto"))
	}
	if receiver := v.field("rcv"); receiver.Kind() == reflect.Interface {
		if receiver.IsNil() {
			return "nothing"
		}
		return described(receiver.Elem().Type())
	}
	return name
}

// described says of a type that has no method to decode with if it should be a pointer.
func described(receiver reflect.Type) string {
	if receiver.Kind() != reflect.Pointer && receiver.NumMethod() == 0 {
		return receiver.String() + ", which is no pointer"
	}
	return receiver.String()
}

// failedIn returns the first command of a radix.Pipeline that has failed, which the
// pipeline keeps to itself, and whether that is because of an error of the server.
func failedIn(into any) (i int, failed, said bool) {
	entries := structOf(reflect.ValueOf(into)).field("mm")
	if entries.Kind() != reflect.Slice {
		return 0, false, false
	}
	for i := range entries.Len() {
		if err := (structure{entries.Index(i)}).field("err"); err.Kind() == reflect.Interface && !err.IsNil() {
			return i, true, saidByServer(err.Elem())
		}
	}
	return 0, false, false
}

func saidByServer(err reflect.Value) bool {
	for err.Type() == reflect.TypeFor[radixresp.ErrConnUsable]() && !err.Field(0).IsNil() {
		err = err.Field(0).Elem()
	}
	return err.Type() == reflect.TypeFor[resp3.SimpleError]() || err.Type() == reflect.TypeFor[resp3.BlobError]()
}

// A structure is a value that may be a struct.
type structure struct{ reflect.Value }

// structOf follows pointers and interfaces.
func structOf(v reflect.Value) structure {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return structure{v}
}

// field returns a field of one of radix's own types, or else the zero Value.
func (s structure) field(name string) reflect.Value {
	if s.Kind() != reflect.Struct || s.Type().PkgPath() != "github.com/mediocregopher/radix/v4" {
		return reflect.Value{}
	}
	return s.FieldByName(name)
}
