package wire

import (
	"context"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

// NetAddr is a host:port, or the path of a unix socket, as a net.Addr.
type NetAddr string

// Network returns "tcp" or "unix".
func (a NetAddr) Network() string { return network(string(a)) }

func (a NetAddr) String() string { return string(a) }

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
