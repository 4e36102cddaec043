package bridge

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

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
		err = wire.NotSent("", cause.Hidden(cannotEncode, err))
	}
	return b, err
}

// cannotEncode is why an action cannot be encoded. That text is not printed: a MarshalText of the program's
// own may show the value.
const cannotEncode = "an argument cannot be encoded: pass strings, numbers or what implements encoding.TextMarshaler"

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

// A memory is replies that radix decodes, as the BufferedReader that it wants. A bufio.Reader
// refuses lines of more than 4,096 bytes, which are legal.
type memory struct {
	rest    []byte
	boolean [3]byte // the last line that may be one
}

// Read is part of resp.BufferedReader, as are those that follow. They do what those of a
// bufio.Reader do that has read everything.
func (m *memory) Read(p []byte) (n int, err error) {
	if n = copy(p, m.rest); n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	m.rest = m.rest[n:]
	return n, nil
}

// radix changes the line of a boolean, which others may decode, too. So it gets a copy.
func (m *memory) ReadSlice(delim byte) (line []byte, err error) {
	n := bytes.IndexByte(m.rest, delim) + 1
	if n == 0 {
		n, err = len(m.rest), io.EOF
	}
	line, m.rest = m.rest[:n:n], m.rest[n:]
	if n == len(m.boolean) {
		line = m.boolean[:copy(m.boolean[:], line)]
	}
	return line, err
}

func (m *memory) Peek(n int) (next []byte, err error) {
	if n > len(m.rest) {
		n, err = len(m.rest), io.EOF
	}
	return m.rest[:n:n], err
}

func (m *memory) Discard(n int) (discarded int, err error) {
	next, err := m.Peek(n)
	m.rest = m.rest[len(next):]
	return len(next), err
}

func (m *memory) Buffered() int { return len(m.rest) }
