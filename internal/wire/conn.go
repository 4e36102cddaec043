package wire

import (
	"context"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

// NetAddr is a host:port, or the path of a unix socket, as a net.Addr.
type NetAddr string

// Network returns "tcp" or "unix".
func (a NetAddr) Network() string { return network(string(a)) }

func (a NetAddr) String() string { return string(a) }

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
		return NotSent("", cause.ErrNilAction)
	case ctx == nil:
		return NotSent("", cause.ErrNilContext)
	}
	if _, ok := action.(*radix.Pipeline); !ok {
		return action.Perform(ctx, on)
	}
	conn := errorConn{Conn: on}
	err := action.Perform(ctx, &conn)
	if conn.err != nil || err == nil {
		return conn.err
	}
	return withoutValues(err, &redislanes.DecodeError{Into: "what a radix.Pipeline holds"})
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

// A Submitter takes batches: a lane or a pool.
type Submitter interface {
	// Submit enqueues the batch, lets it wait for room, or fails it, without
	// blocking. Only if mine is set must the caller, who will wait for the
	// batch, note it with [Call.Mine], and call Flush and Read before it waits.
	Submit(b *Batch) (mine bool)
	// Abandon gives up waiting for a batch that was submitted.
	Abandon(b *Batch, cause error)
	// Address returns the server's address, host:port.
	Address() string
}

// RoundTrip submits one batch and waits for its replies or the context's end.
func RoundTrip(ctx context.Context, to Submitter, b *Batch) {
	if ctx == nil {
		b.Refuse(to.Address(), cause.ErrNilContext)
		return
	}
	if err := ctx.Err(); err != nil {
		b.Refuse(to.Address(), err)
		return
	}
	b.call.Begin(1)
	if to.Submit(b) {
		b.call.Mine(b)
		b.call.Flush()
		b.call.Read(ctx)
	}
	if err := b.call.Wait(ctx); err != nil {
		to.Abandon(b, err)
	}
}

// Question returns a batch of commands of the client's own, such as PING, with its own Call for
// one trip. No [Load] or [ErrorCount] counts it.
func Question(commands ...[]string) *Batch {
	b, encoded := new(Batch), []byte(nil)
	ends := make([]int, len(commands))
	for i, c := range commands {
		encoded = resp.AppendCommand(encoded, c[0], c[1:]...)
		ends[i] = len(encoded)
	}
	b.Reset(NewCall(), encoded)
	from := 0
	for _, end := range ends {
		b.Add(from, end)
		from = end
	}
	b.call.Begin(1)
	b.uncounted = true
	return b
}

// Ask sends commands of the client's own and returns the batch with their replies, or with why
// there are none.
func Ask(ctx context.Context, to Submitter, commands ...[]string) *Batch {
	b := Question(commands...)
	RoundTrip(ctx, to, b)
	return b
}
