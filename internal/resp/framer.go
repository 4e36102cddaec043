package resp

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/redislanes/redislanes/lanes"
)

// ErrProtocol is wrapped by every error of a [Framer]. After one, the stream
// has no known boundary any more and must be closed.
var ErrProtocol = errors.New("protocol error")

// ErrLimit is the ErrProtocol of a reply that exceeds one of the [lanes.Limits].
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
	limits lanes.Limits
	size   int64 // bytes of the current reply so far
	kind   byte  // type of the current reply, behind its attributes
	cur    byte  // type of the element being read
	state  state
	neg    bool
	cr     bool  // the last byte was CR
	digits int   // digits of num
	num    int64 // number of the header
	left   int64 // bytes left of a bulk with its CRLF, or length of the line so far

	attributes int64     // of the current reply so far
	why        TooMuch   // of a reply that is refused
	depth      int       // levels that are open
	shallow    [16]int64 // elements missing on each level; of an attribute, less than 0
	deep       []int64   // the same of the levels behind, made when they are first needed
}

// NewFramer returns a Framer at the beginning of a reply. Zero limits take
// their defaults. The caller must have refused limits out of range
// ([lanes.Dialer.Validate]).
func NewFramer(l lanes.Limits) *Framer {
	return &Framer{limits: WithDefaults(l)}
}

// Kind returns the type byte of the reply that is being read, or that the last
// call of [Framer.Next] completed; 0 while only attributes have arrived.
func (f *Framer) Kind() byte { return f.kind &^ refused }

// Refused returns which limit the reply exceeds that is being read, or that the
// last call of [Framer.Next] completed: one beyond which the Framer still finds
// the reply's end. [NotRefused] if it exceeds none.
func (f *Framer) Refused() TooMuch {
	if f.kind&refused == 0 {
		return NotRefused
	}
	return f.why
}

// refused is set in a Framer's kind, which each reply sets again.
const refused = 0x80

func (f *Framer) refuse(why TooMuch) {
	if f.kind&refused == 0 {
		f.kind |= refused
		f.why = why
	}
}

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
		return fmt.Errorf("%w: a reply of more than %d bytes, the limit", ErrLimit, f.limits.Reply)
	}
	return nil
}

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
		f.size, f.attributes = 0, 0
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
		f.kind |= kind
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
		return used, false, fmt.Errorf("%w: a line of more than %d bytes, the limit", ErrLimit, f.limits.Line)
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
			return false, fmt.Errorf("%w: a bulk string of %d bytes, the limit is %d", ErrLimit, f.num, f.limits.Bulk)
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
		return false, fmt.Errorf("%w: an aggregate of %d elements, the limit is %d", ErrLimit, n, f.limits.Elements)
	}
	f.state = atType
	if f.cur == '|' {
		if f.attributes++; f.attributes > f.limits.Attributes {
			f.refuse(TooManyAttributes)
		}
		if n == 0 {
			return false, nil // the value that it describes follows
		}
		return false, f.open(-n)
	}
	if n == 0 {
		return f.end(), nil
	}
	return false, f.open(n)
}

// open begins a level of n elements, less than 0 for an attribute. Levels beyond
// the limit are not told apart: their elements count as those of the last one,
// which is enough to find the reply's end.
func (f *Framer) open(n int64) error {
	if f.depth < f.limits.Depth {
		*f.level(f.depth) = n
		f.depth++
		return nil
	}
	f.refuse(TooDeep)
	top := f.level(f.depth - 1)
	more := n
	if more < 0 {
		more = -more // an attribute is no element itself
	} else {
		more-- // the aggregate was one
	}
	if *top < 0 {
		if *top < math.MinInt64+more {
			return fmt.Errorf("%w: more elements than can be counted", ErrProtocol)
		}
		*top -= more
		return nil
	}
	if *top > math.MaxInt64-more {
		return fmt.Errorf("%w: more elements than can be counted", ErrProtocol)
	}
	*top += more
	return nil
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

// end is called when an element is complete and reports whether the reply is.
func (f *Framer) end() bool {
	f.state = atType
	for f.depth > 0 {
		left := f.level(f.depth - 1)
		if *left < 0 {
			if *left++; *left == 0 {
				f.depth--
			}
			return false // an attribute is no element: the value that it describes follows
		}
		if *left--; *left > 0 {
			return false
		}
		f.depth--
	}
	return true
}
