package wire

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
)

// A Request is what one exchange of a radix action sends: whole commands,
// encoded and judged once. Make it with [Encode]; it is not safe for concurrent
// use.
type Request struct {
	encoded []byte
	ends    []int
	traits  command.Traits // of any of the commands
	held    string         // the first that changes its connection, or is about it
	refusal error          // why that is refused on a connection of others
	changes bool           // one does so by more than transactions
	session transactions
	slow    bool
	failed  int      // see Failed
	codes   []string // of error replies
}

// Encode encodes what radix would write to a connection. It returns an error if
// that is not a sequence of whole commands; an empty radix.Pipeline has none.
func Encode(marshal any) (*Request, error) {
	r := new(Request)
	if err := r.Encode(nil, marshal); err != nil {
		return nil, err
	}
	return r, nil
}

// Encode is the function of this name for a request that is used again. The commands
// are in the memory of buf, as far as that suffices.
func (r *Request) Encode(buf []byte, marshal any) error {
	encoded, err := AppendRequest(buf[:0], marshal)
	*r = Request{encoded: encoded, ends: r.ends[:0]}
	if err != nil {
		return err
	}
	_, err = Commands(encoded, func(from, to int) {
		r.ends = append(r.ends, to)
		c := command.Of(encoded[from:to])
		r.session.after(c.Effect())
		r.Judge(c)
	})
	return err
}

// Judge notes how one of the commands may travel, if more is known of it than
// the table tells.
func (r *Request) Judge(c command.Command) {
	t := c.Traits()
	if t.Way() == command.Held {
		if r.held == "" {
			r.held, r.refusal = c.Name(), NotShared(c, redislanes.ErrShared)
		}
		r.changes = r.changes || !ofTransaction(c.Effect())
	}
	r.traits |= t
}

// NotShared returns the refusal of a command that does not travel on a connection of others. It
// is otherwise, unless the command needs more than a dedicated connection.
func NotShared(c command.Command, otherwise error) error {
	switch c.Effect() {
	case command.Awaits:
		return cause.ErrNoWrites
	case command.Unanswered:
		return cause.ErrUnanswered
	}
	return otherwise
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

// Bounds returns where the i-th command is in [Request.Encoded].
func (r *Request) Bounds(i int) (from, to int) {
	if i > 0 {
		from = r.ends[i-1]
	}
	return from, r.ends[i]
}

// Each yields every command.
func (r *Request) Each() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		from := 0
		for _, to := range r.ends {
			if !yield(r.encoded[from:to]) {
				return
			}
			from = to
		}
	}
}

// Failed returns how many commands of the last [Request.Exchange] have no reply, or one
// that is an error, and the code of the first error reply. Those of a request on a dedicated
// connection are not counted.
func (r *Request) Failed() (commands int, code string) {
	if len(r.codes) > 0 {
		code = r.codes[0]
	}
	return r.failed, code
}

// Said reports whether a reply to the last [Request.Exchange] is an error with the text's code, and not
// only has it inside. It knows of no replies on a dedicated connection.
func (r *Request) Said(text string) bool {
	return slices.Contains(r.codes, ErrorCode([]byte(text)))
}

func (r *Request) note(b *Batch) {
	r.failed, r.codes = b.errors+b.Len()-len(b.replies), r.codes[:0]
	for i := 0; i < len(b.replies) && len(r.codes) < b.errors; i++ {
		if reply, err := b.Reply(i); err == nil && resp.IsError(reply) {
			r.codes = append(r.codes, ErrorCode(resp.ErrorText(reply)))
		}
	}
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

// SetSlow says whether the request travels on lanes for slow commands.
func (r *Request) SetSlow(slow bool) { r.slow = slow }

// Refused returns the error for a request that changes its connection, or is about it,
// and came to one that others share.
func (r *Request) Refused() error {
	return Named(r.held, "", r.refusal)
}

// Unshared notes that the request's action says that it cannot share its connection. radix
// says so of some commands by their names, whatever their arguments are (XREAD without
// BLOCK): then only what the table tells of the commands counts.
func (r *Request) Unshared() {
	for encoded := range r.Each() {
		if !radix.DefaultActionProperties(resp.CommandName(encoded)).CanShareConn {
			return
		}
	}
	r.traits |= command.Blocking
}

// A Sharer is a [Submitter] whose connections many callers share.
type Sharer interface {
	Submitter
	// Alone calls use with a connection that nobody else has meanwhile, or
	// returns an error that wraps [redislanes.ErrNotSent].
	Alone(ctx context.Context, use func(radix.Conn) error) error
}

// Exchange sends the request and decodes its replies into what into points to. Commands that
// change their connection are refused with [redislanes.ErrShared]. Those that may block, and
// whole transactions, get a dedicated connection. A nil into discards replies that are not
// errors. Unlike radix's own connections, Exchange never touches into after it has returned.
func (r *Request) Exchange(ctx context.Context, to Sharer, into any) error {
	switch r.Way() {
	case command.Held:
		r.failed, r.codes = len(r.ends), r.codes[:0]
		return r.Refused()
	case command.Alone:
		err := to.Alone(ctx, func(alone radix.Conn) error {
			return alone.EncodeDecode(ctx, resp3.RawMessage(r.encoded), into)
		})
		return NameCommand(err, r.encoded, to.Address())
	}
	batch := new(Batch)
	batch.Reset(NewCall(), r.encoded)
	for i := range r.ends {
		batch.Add(r.Bounds(i))
	}
	batch.SetSlow(r.slow)
	RoundTrip(ctx, to, batch)
	r.note(batch)
	if n := len(batch.replies); n < batch.Len() {
		_, err := batch.Reply(n)
		from, end := r.Bounds(n) // of the first command without a reply
		return AfterContext(NameCommand(err, r.encoded[from:end], to.Address()))
	}
	return UnmarshalNamed(r.encoded, batch.buf, into, to.Address())
}

// AppendRequest appends what radix would write to a connection; it may be
// anything if it was not a command.
func AppendRequest(b []byte, marshal any) ([]byte, error) {
	if marshal == nil {
		return b, fmt.Errorf("redislanes: reading without a command works only on a connection of Client.Dial: %w", redislanes.ErrNotSent)
	}
	c := codecs.Get().(*codec)
	c.written = b
	err := resp3.Marshal(c, marshal, c.options())
	b, c.written = c.written, nil
	codecs.Put(c)
	if err != nil {
		err = NotSent("", &unencodable{err})
	}
	return b, err
}

// An unencodable is why an action cannot be encoded. That text is not printed: a MarshalText of the
// program's own may show the value.
type unencodable struct{ cause error }

func (e *unencodable) Error() string {
	return "an argument cannot be encoded: pass strings, numbers or what implements encoding.TextMarshaler"
}

func (e *unencodable) Unwrap() error { return e.cause }

// A codec is what radix's encoding and decoding needs. radix keeps one for each
// connection: its options are not safe for concurrent use, and making them costs
// more than encoding a command.
type codec struct {
	written []byte
	replies memory
	opts    *radixresp.Opts
	fresh   radixresp.Opts
}

var codecs = sync.Pool{New: func() any {
	opts := radixresp.NewOpts()
	return &codec{opts: opts, fresh: *opts}
}}

// options returns the options as they were made: users' marshalers may have
// changed them.
func (c *codec) options() *radixresp.Opts {
	*c.opts = c.fresh
	return c.opts
}

// decode decodes replies as radix does. used is how much of them it has looked at.
func (c *codec) decode(replies []byte, into any) (used int, err error) {
	c.replies.rest = replies
	defer func() {
		used = len(replies) - len(c.replies.rest)
		c.replies.rest = nil
	}()
	defer guard.Catch("the decoding of a reply", &err) // radix panics at nil pointers and at types that it does not know
	return 0, resp3.Unmarshal(&c.replies, into, c.options())
}

var _ io.Writer = (*codec)(nil)

// Write is part of io.Writer.
func (c *codec) Write(p []byte) (int, error) {
	c.written = append(c.written, p...)
	return len(p), nil
}

// Commands calls each with the bounds of every command of an encoded request
// and returns their number.
func Commands(request []byte, each func(from, to int)) (n int, err error) {
	for from := 0; from < len(request); n++ {
		size := resp.CommandLen(request[from:])
		if size == 0 {
			return n, errNotACommand
		}
		each(from, from+size)
		from += size
	}
	return n, nil
}
