package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/resp"
)

// A Reply is the reply to one command, or its error. [Client.Cmd] and pipelines return it. A
// pipeline's Reply is valid from the pipeline's Do until its Reset.
//
// If the command failed, all methods return its error. If nothing could be sent, for example by a
// closed client, it may be any error. Otherwise it is a redislanes.Error. That one wraps a
// resp3.SimpleError for an error of the server, and redislanes.ErrNotSent,
// redislanes.ErrRefused or redislanes.ErrUnknownOutcome as the command's outcome. A null, which
// GET replies for a missing key, is a redislanes.Error that wraps redislanes.ErrNull for the methods
// that return a value. An empty string is a value. A reply of another type is redislanes.ErrDecode.
//
// A Reply of Client.Cmd may be read by many goroutines. A pipeline's Reply follows the
// pipeline's rule for concurrent use.
type Reply reply

// A reply is converted by package pipeline.
type reply = engine.Reply

// Idempotent marks a pipeline's command as one that may run twice without harm. If its outcome is
// unknown, it is sent again. If the repeat fails, the outcome stays unknown
// (redislanes.ErrUnknownOutcome). Commands that only read need no mark. It has no effect after Do, or
// on a Reply of Client.Cmd, which was sent already. It returns r.
func (r Reply) Idempotent() Reply {
	engine.Reply(r).Repeatable()
	return r
}

// Slow marks a pipeline's command as slow. In a laned pool, slow commands travel on lanes of their
// own (pool.Laned.SlowLanes) and do not delay other callers. The pipeline's other commands for the
// same node travel with it. Commands in [Config.Slow] need no mark. It has
// no effect after Do, or on a Reply of Client.Cmd. It returns r.
func (r Reply) Slow() Reply {
	engine.Reply(r).SetSlow(true)
	return r
}

// Fast marks a pipeline's command as not slow, such as an LRANGE of a few elements. It has no
// effect after Do, on a Reply of Client.Cmd, if another command of the pipeline for the same node
// is slow, or if 1,000 commands or more go to its node. It returns r.
func (r Reply) Fast() Reply {
	engine.Reply(r).SetSlow(false)
	return r
}

// Err returns why the command failed, nil if it did not.
func (r Reply) Err() error { return engine.Reply(r).Err() }

// Int returns an integer, or a string that holds one.
func (r Reply) Int() (int64, error) {
	raw, err := engine.Reply(r).Raw()
	if err != nil {
		return 0, err
	}
	n, err := resp.Int(raw)
	return n, r.misfit(raw, "int64", err)
}

// Text returns a string, a status or a number as text.
func (r Reply) Text() (string, error) {
	b, err := r.Bytes()
	return string(b), err
}

// Bytes is Text without a copy. Do not change the result. In a pipeline it is valid until Reset.
func (r Reply) Bytes() ([]byte, error) {
	raw, err := engine.Reply(r).Raw()
	if err != nil {
		return nil, err
	}
	b, err := resp.Bytes(raw)
	return b, r.misfit(raw, "[]byte", err)
}

// misfit returns the error of a reply that is not what into names; nil if err is nil.
func (r Reply) misfit(raw []byte, into string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, resp.ErrNull):
		return engine.Reply(r).Undecodable(err)
	}
	return engine.Reply(r).Undecodable(&cause.DecodeError{Into: into, Kind: raw[0], Cause: err})
}

// IsNull reports whether Redis replied null. It is false if the command failed.
func (r Reply) IsNull() bool {
	raw, err := engine.Reply(r).Raw()
	return err == nil && resp.IsNull(raw)
}

// Into decodes the reply into the value that into points to, by radix's rules (package resp3). Use
// it for arrays, maps and structs. A null becomes the zero value. [As] tells a null apart. An integer
// that *into cannot hold is [redislanes.ErrDecode]. Inside of arrays and maps, radix cuts it off.
// An error inside of an array, such as the reply to EXEC or to a script, is a value: Into returns nil.
// To find it, decode into a radix.Tuple, for which Into returns the first error, or into a
// []resp3.RawMessage, in which it begins with '-'.
// A map or set of RESP3 needs a receiver such as map[string]any: radix has no type for it in an any.
func (r Reply) Into(into any) error {
	raw, err := engine.Reply(r).Raw()
	if err != nil {
		return err
	}
	if ints, ok := into.(*[]int64); ok && ints != nil { // what most scripts reply, without reflection
		if all, ok := resp.AppendInts((*ints)[:0], raw); ok {
			*ints = all
			return nil
		}
	}
	if v := reflect.ValueOf(into); v.Kind() == reflect.Pointer && v.IsNil() {
		return r.misfit(raw, fmt.Sprintf("a nil %T", into), errors.New("the pointer is nil"))
	}
	if len(raw) > 0 && strings.IndexByte("*%~", raw[0]) >= 0 {
		makePointers(reflect.ValueOf(into))
	}
	switch err := bridge.Unmarshal(raw, into); {
	case err != nil:
		return engine.Reply(r).Undecodable(err)
	case !fits(raw, into):
		return r.misfit(raw, fmt.Sprintf("%T", into), strconv.ErrRange)
	}
	return nil
}

// Node returns the address of the node that ran the command, "" if the command failed.
func (r Reply) Node() string {
	if _, err := engine.Reply(r).Raw(); err != nil {
		return ""
	}
	return engine.Reply(r).Node()
}

// String returns the reply as readable text: a string in quotes, a number, (nil), or a list of these. If the
// command failed, it is the error's text. A reply of more than 1 KiB is cut there, and shown as
// the server sent it.
func (r Reply) String() string {
	raw, err := engine.Reply(r).Raw()
	if err != nil {
		return err.Error()
	}
	if len(raw) > longestPrint {
		return fmt.Sprintf("%q... (a reply of %d bytes)", raw[:longestPrint], len(raw))
	}
	return printed(raw)
}

// longestPrint bounds the text of a reply, so that a large one does not fill a log.
const longestPrint = 1 << 10

// printed returns a reply as text. It does not use radix, which decodes no map or set of RESP3 with strings
// as keys into an any.
func printed(reply []byte) string {
	if list, ok := resp.Array(reply); ok {
		each := make([]string, len(list))
		for i, element := range list {
			each[i] = printed(element)
		}
		return "[" + strings.Join(each, " ") + "]"
	}
	text, err := resp.Bytes(reply)
	switch {
	case resp.IsError(reply):
		return cause.Said(resp.ErrorText(reply)).Error()
	case resp.IsNull(reply):
		return "(nil)"
	case err != nil:
		return err.Error()
	case strings.IndexByte("$+=", reply[0]) >= 0:
		return strconv.Quote(string(text))
	}
	return string(text)
}

// As returns the reply as a T, by the rules of [Reply.Into]: a string, a number, a
// []byte, a slice, map or struct of these, or a type with an UnmarshalText or UnmarshalBinary. Other
// named types, such as time.Duration, are [redislanes.ErrDecode]. If T is a pointer, a null is nil. For any other T a
// null is redislanes.ErrNull, so that a key that does not exist is not taken for an empty
// value.
//
//	name, err := cluster.As[string](client.Cmd(ctx, "GET", "name"))
//	tags, err := cluster.As[[]string](client.Cmd(ctx, "SMEMBERS", "tags"))
func As[T any](r Reply) (T, error) {
	var value, none T
	switch err := r.Err(); {
	case err != nil:
		return none, err
	case !r.IsNull():
		if err := r.Into(&value); err != nil {
			return none, err
		}
	case reflect.TypeFor[T]().Kind() != reflect.Pointer:
		_, err := r.Bytes()
		return none, err
	}
	return value, nil
}

// makePointers gives the nil pointers that v leads to values. radix does so for all replies but
// arrays, maps and sets.
func makePointers(v reflect.Value) {
	for ; v.Kind() == reflect.Pointer && !v.IsNil(); v = v.Elem() {
		if to := v.Elem(); to.Kind() == reflect.Pointer && to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
	}
}

// fits reports whether into points to an integer that is large enough for the reply: radix cuts off
// the bits that do not fit. It is true for other types, and for types that decode themselves.
func fits(raw []byte, into any) bool {
	v := reflect.ValueOf(into)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.IsValid() && v.Type().PkgPath() != "" {
		return true
	}
	var err error
	if text, _ := resp.Bytes(raw); v.CanInt() {
		_, err = strconv.ParseInt(string(text), 10, v.Type().Bits())
	} else if v.CanUint() {
		_, err = strconv.ParseUint(string(text), 10, v.Type().Bits())
	}
	return !errors.Is(err, strconv.ErrRange)
}
