// Package bridge leads from the actions of radix to commands and back: it encodes what an action
// sends, decodes replies by radix's rules, and returns errors that radix understands. The packages
// below it know encoded commands and replies, and nothing of radix.
package bridge

import (
	"context"
	"errors"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// EncodesItself reports whether the action is nothing but commands, one exchange
// after the other, so that all there is to know of it is in what it encodes.
func EncodesItself(action radix.Action) bool {
	switch action.(type) {
	case radixresp.Marshaler, *radix.Pipeline:
		return true
	}
	return false
}

// Probes reports whether the action sends EVALSHA to find out whether the server knows its script,
// and EVAL if not, as that of a radix.EvalScript does: it cannot be pipelined, since its second
// command depends on the reply to the first, but shares its connection.
func Probes(action radix.Action) bool {
	if action == nil {
		return false
	}
	p := action.Properties()
	return !p.CanPipeline && p.CanShareConn && EncodesItself(action)
}

// Perform performs the action on the connection. The text of a radix.Pipeline's error shows a
// command with its arguments, so Perform replaces that error as [Unmarshal] does. A nil action or
// context is an error.
func Perform(ctx context.Context, action radix.Action, on radix.Conn) error {
	switch {
	case action == nil:
		return wire.NotSent("", cause.ErrNilAction)
	case ctx == nil:
		return wire.NotSent("", cause.ErrNilContext)
	}
	if _, ok := action.(*radix.Pipeline); !ok {
		return action.Perform(ctx, on)
	}
	conn := errorConn{Conn: on}
	err := action.Perform(ctx, &conn)
	if conn.err != nil || err == nil {
		return conn.err
	}
	return withoutValues(err, &cause.DecodeError{Into: "what a radix.Pipeline holds"})
}

// An errorConn is a connection that remembers the last error on it.
type errorConn struct {
	radix.Conn
	err error
}

func (c *errorConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	c.err = c.Conn.EncodeDecode(ctx, marshal, unmarshalInto)
	return c.err
}

// Usable returns an error that tells radix that the connection can still be used.
func Usable(err error) error {
	known := wire.Top(err)
	switch {
	case errors.As(err, new(radixresp.ErrConnUsable)):
		return err
	case known == nil:
		return radixresp.ErrConnUsable{Err: err}
	}
	usable := *known
	usable.Cause = radixresp.ErrConnUsable{Err: known.Cause}
	return &usable
}

// AfterContext returns the error of an action. If the context's end is its cause, it says that the
// connection can still be used.
func AfterContext(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Usable(err)
	}
	return err
}
