package resp

import (
	"bytes"
	"errors"
	"fmt"
)

// DefaultMaxReply is how many bytes a reply may have by default.
const DefaultMaxReply = 1 << 30

// maxDepth is how deep aggregates may be nested. Decoders of programs recurse.
const maxDepth = 1024

// ErrProtocol is wrapped by every error of a [Framer]. After one, the stream
// has no known boundary any more and must be closed.
var ErrProtocol = errors.New("protocol error")

// ErrLimit is the ErrProtocol of a reply that is too large, or nested too deep.
var ErrLimit = fmt.Errorf("%w", ErrProtocol)

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
	limit  int64
	size   int64 // bytes of the current reply so far, with what stands aside
	kind   byte  // type of the current reply
	cur    byte  // type of the element being read
	state  state
	neg    bool
	cr     bool  // the last byte was CR
	digits int   // digits of num
	num    int64 // number of the header
	left   int64 // bytes left of a bulk with its CRLF

	aside   byte      // type of the push or the attribute that is being read; 0: none
	was     byte      // what aside was for the bytes that Next returned last
	floor   int       // levels that were open before it
	depth   int       // levels that are open
	shallow [16]int64 // elements missing on each level
	deep    []int64   // the same of the levels behind, made when they are first needed
}

// NewFramer returns a Framer at the beginning of a reply. A reply may have at most limit bytes.
func NewFramer(limit int64) *Framer { return &Framer{limit: limit} }

// Kind returns the type byte of the reply that is being read, or that the last
// call of [Framer.Next] completed; 0 before it has begun.
func (f *Framer) Kind() byte { return f.kind }

// Aside returns the type of what the bytes belong to that [Framer.Next] used last, if that is no
// reply: '>' for a push, which is a message out of band, and '|' for an attribute, which may stand
// before any value. It returns 0 for bytes of a reply.
func (f *Framer) Aside() byte { return f.was }

// Bulk returns how many bytes of the bulk string that is being read have not
// arrived, without its CRLF; 0 outside of one.
func (f *Framer) Bulk() int64 { return max(0, f.left-2) }

// Skip is [Framer.Next] for the next n bytes of a bulk string, at most
// [Framer.Bulk], which need not be looked at.
func (f *Framer) Skip(n int) error {
	f.left -= int64(n)
	return f.grow(n)
}

// grow counts bytes of the current reply.
func (f *Framer) grow(n int) error {
	if f.size += int64(n); f.size > f.limit {
		return fmt.Errorf("%w: a reply of more than %d bytes, the limit", ErrLimit, f.limit)
	}
	return nil
}

// Next consumes bytes of p up to the end of the current reply, or to where a push or an attribute
// begins or ends (see [Framer.Aside]). It returns how many it consumed and whether a reply, or a push, is
// complete. The next call goes on with the bytes that follow in the stream. The error wraps
// [ErrProtocol] and is final.
func (f *Framer) Next(p []byte) (n int, done bool, err error) {
	if f.size == 0 {
		f.kind = 0
		if n := shortLine(p); n > 0 && int64(n) <= f.limit {
			f.kind, f.was = p[0], 0
			return n, true, nil
		}
	}
	f.was = f.aside
	for n < len(p) && !done && err == nil && f.was == f.aside {
		used := 1
		switch f.state {
		case atType:
			if f.leaves(p[n]) {
				if n > 0 {
					return n, false, nil
				}
				f.aside, f.was, f.floor = p[n], p[n], f.depth
			}
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

// leaves reports whether a push or an attribute begins with the type.
func (f *Framer) leaves(kind byte) bool {
	return f.aside == 0 && (kind == '|' || kind == '>' && f.depth == 0)
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

func (f *Framer) begin(kind byte) error {
	if f.depth == 0 && f.aside == 0 {
		f.kind = kind
	}
	inside := f.aside != 0 && f.depth > f.floor
	f.cur, f.cr = kind, false
	switch kind {
	case '+', '-', ':', ',', '(', '_', '#':
		f.state = inLine
	case '|':
		if inside {
			return fmt.Errorf("%w: an attribute inside of a push or an attribute", ErrProtocol)
		}
		fallthrough
	case '$', '!', '=', '*', '%', '~', '>':
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
		if f.num > f.limit-f.size {
			return false, fmt.Errorf("%w: a bulk string of %d bytes, the limit of a reply is %d", ErrLimit, f.num, f.limit)
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
	const shortest = int64(len("_\r\n"))
	if n > (f.limit-f.size)/shortest {
		return false, fmt.Errorf("%w: an aggregate of %d elements, the limit of a reply is %d bytes", ErrLimit, n, f.limit)
	}
	f.state = atType
	if n == 0 {
		return f.end(), nil
	}
	if f.depth == maxDepth {
		return false, fmt.Errorf("%w: a reply that is nested more than %d deep", ErrLimit, maxDepth)
	}
	*f.level(f.depth) = n
	f.depth++
	return false, nil
}

// level returns where the number of the i-th level is.
func (f *Framer) level(i int) *int64 {
	if i < len(f.shallow) {
		return &f.shallow[i]
	}
	return f.deepLevel(i - len(f.shallow))
}

func (f *Framer) deepLevel(i int) *int64 {
	if i == len(f.deep) {
		f.deep = append(f.deep, 0)
	}
	return &f.deep[i]
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

// end is called when an element is complete and reports whether the reply, or a push, is.
func (f *Framer) end() bool {
	f.state = atType
	for f.depth > f.floor {
		left := f.level(f.depth - 1)
		if *left--; *left > 0 {
			return false
		}
		f.depth--
	}
	if f.aside == 0 {
		return true
	}
	push := f.aside == '>'
	f.aside, f.floor = 0, 0
	return push
}
