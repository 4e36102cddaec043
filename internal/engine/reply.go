package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Reply is the place of a command in [Commands]. Package cluster has its documentation
// and its decoding.
type Reply struct {
	of         *Commands
	index      int32
	generation uint32
}

// Raw returns the reply as it came from the server, or the command's error.
func (r Reply) Raw() ([]byte, error) {
	c := r.of
	switch {
	case c == nil:
		return nil, cause.ErrPending
	case c.generation != r.generation:
		return nil, cause.ErrStale
	case r.index < 0:
		return nil, c.refused[-r.index-1].error()
	case c.state != executed:
		return nil, cause.ErrPending
	case c.err != nil:
		return nil, c.err
	case c.alone != nil:
		return c.alone, nil
	}
	return c.Request.Reply(int(r.index))
}

// Err returns why the command failed, also if its reply could not be decoded into its
// receiver.
func (r Reply) Err() error {
	if _, err := r.Raw(); err != nil || r.of.alone != nil {
		return err
	}
	return r.of.errorOf(int(r.index))
}

// Int decodes the reply, as do those that follow: see cluster.Reply.
func (r Reply) Int() (int64, error) {
	raw, err := r.Raw()
	if err != nil {
		return 0, err
	}
	n, err := resp.Int(raw)
	return n, r.misfit(raw, "int64", err)
}

// Float is as in cluster.Reply.
func (r Reply) Float() (float64, error) {
	raw, err := r.Raw()
	if err != nil {
		return 0, err
	}
	f, b := 0.0, []byte(nil)
	if b, err = resp.Bytes(raw); err == nil {
		f, err = strconv.ParseFloat(string(b), 64)
	}
	if err != nil {
		return 0, r.misfit(raw, "float64", err)
	}
	return f, nil
}

// Bytes returns memory of the reply.
func (r Reply) Bytes() ([]byte, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	b, err := resp.Bytes(raw)
	return b, r.misfit(raw, "[]byte", err)
}

// IsNull is false if the command failed.
func (r Reply) IsNull() bool {
	raw, err := r.Raw()
	return err == nil && resp.IsNull(raw)
}

// Into decodes by radix's rules.
func (r Reply) Into(into any) error {
	raw, err := r.Raw()
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
		return r.undecodable(err)
	case !fits(raw, into):
		return r.misfit(raw, fmt.Sprintf("%T", into), strconv.ErrRange)
	}
	return nil
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

// misfit returns the error of a reply that is not what into names; nil if err is nil.
func (r Reply) misfit(raw []byte, into string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, resp.ErrNull):
		return r.undecodable(err)
	}
	return r.undecodable(&redislanes.DecodeError{Into: into, Kind: raw[0], Cause: err})
}

// undecodable names the command and the node in the error of decoding its reply.
func (r Reply) undecodable(err error) error {
	if c := r.of; c.alone != nil {
		return wire.Named(c.name, c.addr, err)
	}
	return r.of.Request.Undecodable(int(r.index), err)
}

// Node returns the address of the node that ran the command, "" if the command failed.
func (r Reply) Node() string {
	if _, err := r.Raw(); err != nil {
		return ""
	}
	if r.of.alone != nil {
		return r.of.addr
	}
	return r.of.Request.Node(int(r.index))
}

// Repeatable is [Request.Repeatable], if the command was not sent yet.
func (r Reply) Repeatable() {
	if r.markable() {
		r.of.Request.Repeatable(int(r.index))
	}
}

// SetSlow is [Request.SetSlow], if the command was not sent yet.
func (r Reply) SetSlow(slow bool) {
	if r.markable() {
		r.of.Request.SetSlow(int(r.index), slow)
	}
}

// markable reports whether the command is in the request and was not sent yet.
func (r Reply) markable() bool {
	c := r.of
	return c != nil && c.generation == r.generation && r.index >= 0 && c.state == appending
}
