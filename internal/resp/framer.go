package resp

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrProtocol is wrapped by every error of a [Framer]. After one, the stream
// has no known boundary any more and must be closed.
var ErrProtocol = errors.New("resp: protocol error")

// Limits bound what one reply may cost. A zero field takes its default.
type Limits struct {
	Bulk     int64 // bytes of one bulk string; default 512 MiB, Redis' own proto-max-bulk-len
	Elements int64 // elements of one aggregate; default 16 Mi
	Line     int64 // bytes of one simple string, number or error; default 64 KiB
	Reply    int64 // bytes of one whole reply; default 1 GiB
	Depth    int   // nesting of aggregates; default 16, at most 32
}

const maxDepth = 32

// WithDefaults returns l with its zero fields set.
func (l Limits) WithDefaults() Limits {
	set := func(field *int64, value int64) {
		if *field == 0 {
			*field = value
		}
	}
	set(&l.Bulk, 512<<20)
	set(&l.Elements, 16<<20)
	set(&l.Line, 64<<10)
	set(&l.Reply, 1<<30)
	if l.Depth == 0 {
		l.Depth = 16
	}
	return l
}

// Validate returns an error that names the first field out of range.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name  string
		value int64
	}{{"Bulk", l.Bulk}, {"Elements", l.Elements}, {"Line", l.Line}, {"Reply", l.Reply}, {"Depth", int64(l.Depth)}} {
		if f.value < 0 {
			return fmt.Errorf("resp: Limits.%s = %d: must not be negative", f.name, f.value)
		}
	}
	if l.Depth > maxDepth {
		return fmt.Errorf("resp: Limits.Depth = %d: must be at most %d", l.Depth, maxDepth)
	}
	return nil
}

type state uint8

const (
	atType   state = iota // the next byte is a type
	inLine                // in a line, up to CRLF
	inHeader              // in the number behind a type
	inBulk                // in a bulk's bytes or their CRLF
)

// A Framer finds the ends of replies in a stream that arrives in pieces of any
// size. Use [NewFramer]. It is not safe for concurrent use.
type Framer struct {
	limits Limits
	size   int64 // bytes of the current reply so far
	kind   byte  // type of the current reply, behind its attributes
	cur    byte  // type of the element being read
	state  state
	neg    bool
	cr     bool  // the last byte was CR
	digits int   // digits of num
	num    int64 // number of the header
	left   int64 // bytes left of a bulk with its CRLF, or length of the line so far

	depth   int
	pending [maxDepth]int64 // elements missing on each level
	attrs   uint64          // levels that are attributes
}

// NewFramer returns a Framer at the beginning of a reply. Zero limits take
// their defaults; limits that do not validate are an error of the caller's and
// must have been refused before.
func NewFramer(l Limits) *Framer {
	return &Framer{limits: l.WithDefaults()}
}

// Kind returns the type byte of the reply that is being read, or that the last
// call of [Framer.Next] completed; 0 while only attributes have arrived.
func (f *Framer) Kind() byte { return f.kind }

// Bulk returns how many bytes of the bulk string that is being read have not
// arrived, without its CRLF; 0 outside of one.
func (f *Framer) Bulk() int64 {
	if f.state != inBulk {
		return 0
	}
	return max(0, f.left-2)
}

// Size returns how many bytes the reply that is being read will have at least:
// those that have arrived, and what is missing of its bulk string; 0 between two
// replies.
func (f *Framer) Size() int64 { return f.size + f.Bulk() }

// Skip is [Framer.Next] for the next n bytes of a bulk string, at most
// [Framer.Bulk], which need not be looked at.
func (f *Framer) Skip(n int) error {
	f.left -= int64(n)
	return f.grow(n)
}

// grow counts bytes of the current reply.
func (f *Framer) grow(n int) error {
	if f.size += int64(n); f.size > f.limits.Reply {
		return fmt.Errorf("%w: a reply of more than %d bytes, the limit", ErrProtocol, f.limits.Reply)
	}
	return nil
}

// Idle reports whether the Framer is between two replies.
func (f *Framer) Idle() bool { return f.size == 0 }

// Next consumes bytes of p up to the end of the current reply. It returns how
// many it consumed and whether the reply is complete. If it is not, then n is
// len(p), and the next call goes on with the bytes that follow in the stream.
// The error wraps [ErrProtocol] and is final.
func (f *Framer) Next(p []byte) (n int, done bool, err error) {
	if f.size == 0 {
		f.kind = 0
		if n := shortLine(p); n > 0 && f.allows(n) {
			f.kind = p[0]
			return n, true, nil
		}
	}
	for n < len(p) && !done && err == nil {
		used := 1
		switch f.state {
		case atType:
			err = f.begin(p[n])
		case inLine:
			used, done, err = f.line(p[n:])
		case inHeader:
			done, err = f.header(p[n])
		case inBulk:
			used, done, err = f.bulk(p[n:])
		}
		n += used
		if tooMuch := f.grow(used); tooMuch != nil {
			err = tooMuch
		}
	}
	if done {
		f.size = 0
	}
	return n, done, err
}

// shortLine returns the length of a complete short integer or status at the
// beginning of p, nearly every reply of a counter, or 0.
func shortLine(p []byte) int {
	const short = 24
	if len(p) < 4 || (p[0] != ':' && p[0] != '+') {
		return 0
	}
	for i := 1; i < len(p)-1 && i < short; i++ {
		if p[i] == '\r' {
			if p[i+1] == '\n' {
				return i + 2
			}
			return 0
		}
		if p[i] == '\n' {
			return 0
		}
	}
	return 0
}

// allows reports whether a line of n bytes with its type is within the limits.
func (f *Framer) allows(n int) bool {
	const typeAndEnd = len(":\r\n")
	return int64(n-typeAndEnd) <= f.limits.Line && int64(n) <= f.limits.Reply
}

func (f *Framer) begin(kind byte) error {
	if f.depth == 0 && kind != '|' {
		f.kind = kind
	}
	f.cur, f.cr = kind, false
	switch kind {
	case '+', '-', ':', ',', '(', '_', '#':
		f.state, f.left = inLine, 0
	case '$', '!', '=', '*', '%', '~', '>', '|':
		f.state, f.num, f.neg, f.digits = inHeader, 0, false, 0
	default:
		return fmt.Errorf("%w: %q is not a RESP type", ErrProtocol, kind)
	}
	return nil
}

func (f *Framer) line(p []byte) (used int, done bool, err error) {
	i := bytes.IndexByte(p, '\n')
	used = i + 1
	if i < 0 {
		used = len(p)
	}
	if f.left += int64(used); f.left-2 > f.limits.Line {
		return used, false, fmt.Errorf("%w: a line of more than %d bytes, the limit", ErrProtocol, f.limits.Line)
	}
	if i < 0 {
		f.cr = p[used-1] == '\r'
		return used, false, nil
	}
	if i > 0 {
		f.cr = p[i-1] == '\r'
	}
	if !f.cr {
		return used, false, fmt.Errorf("%w: LF without CR in a line", ErrProtocol)
	}
	return used, f.end(), nil
}

func (f *Framer) header(c byte) (done bool, err error) {
	switch {
	case c >= '0' && c <= '9' && !f.cr:
		const enough = 18
		if f.digits++; f.digits > enough {
			return false, fmt.Errorf("%w: a length of more than %d digits behind %q", ErrProtocol, enough, f.cur)
		}
		f.num = f.num*10 + int64(c-'0')
	case c == '-' && f.digits == 0 && !f.neg && !f.cr:
		f.neg = true
	case c == '\r' && f.digits > 0 && !f.cr:
		f.cr = true
	case c == '\n' && f.cr:
		return f.sized()
	default:
		return false, fmt.Errorf("%w: %q in the length behind %q", ErrProtocol, c, f.cur)
	}
	return false, nil
}

// sized is called when the number behind a type is complete.
func (f *Framer) sized() (done bool, err error) {
	if f.neg {
		if f.num == 1 && (f.cur == '$' || f.cur == '*') { // RESP2's nulls
			return f.end(), nil
		}
		return false, fmt.Errorf("%w: length -%d behind %q", ErrProtocol, f.num, f.cur)
	}
	switch f.cur {
	case '$', '!', '=':
		if f.num > f.limits.Bulk {
			return false, fmt.Errorf("%w: a bulk string of %d bytes, the limit is %d", ErrProtocol, f.num, f.limits.Bulk)
		}
		f.state, f.left, f.cr = inBulk, f.num+2, false
		return false, nil
	}
	return f.aggregate()
}

func (f *Framer) aggregate() (done bool, err error) {
	n := f.num
	if f.cur == '%' || f.cur == '|' {
		n *= 2
	}
	if f.num > f.limits.Elements || n > f.limits.Elements {
		return false, fmt.Errorf("%w: an aggregate of %d elements, the limit is %d", ErrProtocol, n, f.limits.Elements)
	}
	f.state = atType
	if n == 0 {
		if f.cur == '|' {
			return false, nil // the value that it describes follows
		}
		return f.end(), nil
	}
	if f.depth >= f.limits.Depth {
		return false, fmt.Errorf("%w: aggregates nested more than %d deep, the limit", ErrProtocol, f.limits.Depth)
	}
	f.pending[f.depth] = n
	f.attrs &^= 1 << f.depth
	if f.cur == '|' {
		f.attrs |= 1 << f.depth
	}
	f.depth++
	return false, nil
}

func (f *Framer) bulk(p []byte) (used int, done bool, err error) {
	if f.left > 2 {
		used = int(min(int64(len(p)), f.left-2))
		f.left -= int64(used)
		return used, false, nil
	}
	if want := "\r\n"[2-f.left]; p[0] != want {
		return 1, false, fmt.Errorf("%w: %q instead of CRLF behind a bulk string", ErrProtocol, p[0])
	}
	if f.left--; f.left > 0 {
		return 1, false, nil
	}
	return 1, f.end(), nil
}

// end is called when an element is complete and reports whether the reply is.
func (f *Framer) end() bool {
	f.state = atType
	for f.depth > 0 {
		top := f.depth - 1
		if f.pending[top]--; f.pending[top] > 0 {
			return false
		}
		f.depth = top
		if f.attrs&(1<<top) != 0 {
			return false // an attribute is no element: the value that it describes follows
		}
	}
	return true
}
