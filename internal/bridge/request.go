package bridge

import (
	"context"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Request is what one exchange of a radix action sends: whole commands,
// encoded and judged once, and again for each call of Encode. It is not safe for concurrent
// use.
type Request struct {
	encoded []byte
	ends    []int
	traits  command.Traits // of any of the commands
	refused error          // of the first that changes its connection, or is about it, on one of others
	changes bool           // one does so by more than transactions
	session transactions
}

// Encode encodes what radix would write to a connection, in the memory of buf as far as that suffices. It
// returns an error if that is not a sequence of whole commands. An empty radix.Pipeline has none.
func (r *Request) Encode(buf []byte, marshal any) error {
	encoded, err := AppendRequest(buf[:0], marshal)
	*r = Request{encoded: encoded, ends: r.ends[:0]}
	if err != nil {
		return err
	}
	if _, err = wire.Commands(encoded, func(from, to int) { r.ends = append(r.ends, to) }); err != nil {
		return err
	}
	for i := range r.ends {
		c := command.Of(r.command(i))
		if err := wire.CheckName(c); err != nil {
			return err
		}
		r.session.after(c.Effect())
		r.judge(c)
	}
	return nil
}

// judge notes how one of the commands may travel.
func (r *Request) judge(c command.Command) {
	t := c.Traits()
	if t.Way() == command.Held {
		if r.refused == nil {
			r.refused = wire.Named(c.Name(), "", wire.NotShared(c, redislanes.ErrShared))
		}
		r.changes = r.changes || !ofTransaction(c.Effect())
	}
	r.traits |= t
}

// transactions is what the commands of a request have done to a connection so far.
type transactions struct{ open, watches, odd bool }

// after notes the next command, whatever the server will make of it.
func (t *transactions) after(e command.Effect) {
	switch {
	case e == command.OpensTransaction && !t.open:
		t.open = true
	case e == command.EndsTransaction && t.open:
		t.open, t.watches = false, false
	case e == command.Watches && !t.open:
		t.watches = true
	case e == command.Unwatches:
		t.watches = t.watches && t.open
	case ofTransaction(e):
		t.odd = true
	}
}

// ofTransaction tells whether EXEC or DISCARD ends the effect.
func ofTransaction(e command.Effect) bool {
	return command.OpensTransaction <= e && e <= command.Unwatches
}

// Len returns the number of commands.
func (r *Request) Len() int { return len(r.ends) }

// Encoded returns all commands, one behind the other.
func (r *Request) Encoded() []byte { return r.encoded }

// Ends returns where each command ends in [Request.Encoded].
func (r *Request) Ends() []int { return r.ends }

// Bounds returns where the i-th command is in [Request.Encoded].
func (r *Request) Bounds(i int) (from, to int) {
	if i > 0 {
		from = r.ends[i-1]
	}
	return from, r.ends[i]
}

// command returns the i-th command.
func (r *Request) command(i int) []byte {
	from, to := r.Bounds(i)
	return r.encoded[from:to]
}

// Way returns how all of the request may travel. Whole transactions, which leave their
// connection as it was, need not be held by their user.
func (r *Request) Way() command.Way {
	way := r.traits.Way()
	if way == command.Held && !r.changes && r.session == (transactions{}) {
		return command.Alone
	}
	return way
}

// Refused returns the error for a request that changes its connection, or is about it,
// and came to one that others share.
func (r *Request) Refused() error { return r.refused }

// Unshared notes that the request's action says that it cannot share its connection. radix
// says so of some commands by their names, whatever their arguments are (XREAD without
// BLOCK): then only what the table tells of the commands counts.
func (r *Request) Unshared() {
	for i := range r.ends {
		if !radix.DefaultActionProperties(resp.CommandName(r.command(i))).CanShareConn {
			return
		}
	}
	r.traits |= command.Blocking
}

// An Aloner calls use with a connection that nobody else has meanwhile, or returns an error that wraps
// [redislanes.ErrNotSent].
type Aloner func(ctx context.Context, use func(radix.Conn) error) error

// Exchange sends the request to the server and decodes its replies into what into points to.
// Commands that change their connection are refused with [redislanes.ErrShared]. Those that may
// block, and whole transactions, get a dedicated connection. A nil into discards replies that are
// not errors. Unlike radix's own connections, Exchange never touches into after it has returned.
func (r *Request) Exchange(ctx context.Context, to wire.Submitter, alone Aloner, into any) error {
	switch r.Way() {
	case command.Held:
		return r.Refused()
	case command.Alone:
		err := alone(ctx, func(conn radix.Conn) error {
			return conn.EncodeDecode(ctx, resp3.RawMessage(r.encoded), into)
		})
		return wire.NameCommand(err, r.encoded, to.Address())
	}
	batch := new(wire.Batch)
	batch.Reset(wire.NewCall(), r.encoded)
	for i := range r.ends {
		batch.Add(r.Bounds(i))
	}
	wire.RoundTrip(ctx, to, batch)
	for i := range r.ends {
		if _, err := batch.Reply(i); err != nil {
			return AfterContext(wire.NameCommand(err, r.command(i), to.Address()))
		}
	}
	return UnmarshalNamed(r.encoded, batch.Replies(), into, to.Address())
}
