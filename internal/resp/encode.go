package resp

import "strconv"

// AppendArray appends the header of an array of n elements, as every command
// begins with, and returns the extended slice.
func AppendArray(b []byte, n int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

// AppendBulk appends s as a bulk string; it may hold any bytes.
func AppendBulk[T ~string | ~[]byte](b []byte, s T) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, '\r', '\n')
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendBulkInt appends n in decimal as a bulk string.
func AppendBulkInt(b []byte, n int64) []byte {
	var digits [20]byte
	return AppendBulk(b, strconv.AppendInt(digits[:0], n, 10))
}

// AppendCommand appends a whole command.
func AppendCommand(b []byte, name string, args ...string) []byte {
	b = AppendArray(b, 1+len(args))
	b = AppendBulk(b, name)
	for _, arg := range args {
		b = AppendBulk(b, arg)
	}
	return b
}

// CommandName returns the name of an encoded command, as it was written, or ""
// if cmd does not begin with a command. The result aliases nothing.
func CommandName(cmd []byte) string {
	name, _ := Argument(cmd, 0)
	return string(name)
}

// Elements returns the number of elements of an encoded command, its name
// included.
func Elements(cmd []byte) int {
	args := ArgsOf(cmd)
	return args.Len()
}

// Argument returns the i-th element of an encoded command, 0 being its name.
// The result is part of cmd.
func Argument(cmd []byte, i int) ([]byte, bool) {
	args := ArgsOf(cmd)
	args.Skip(i)
	return args.Next()
}

// CommandLen returns the length of the command that b begins with, 0 if it does
// not begin with a whole one.
func CommandLen(b []byte) int {
	n, rest, ok := header(b, '*')
	if !ok || n == 0 {
		return 0
	}
	for ; n > 0; n-- {
		size, body, ok := header(rest, '$')
		if !ok || size > len(body)-2 || string(body[size:size+2]) != "\r\n" {
			return 0
		}
		rest = body[size+2:]
	}
	return len(b) - len(rest)
}

// header parses a type byte, a non-negative number and CRLF. The number counts elements
// or bytes that follow. One beyond the end of b is refused, so n fits an int on every
// platform. Regression: TestClaimsBeyondTheEnd.
func header(b []byte, kind byte) (n int, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != kind {
		return 0, nil, false
	}
	const digits = 18 // fit an int64 without overflow
	claimed := int64(0)
	for i := 1; i < len(b) && i <= digits+1; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9' && i <= digits:
			claimed = claimed*10 + int64(c-'0')
		case c == '\r' && i > 1 && i+1 < len(b) && b[i+1] == '\n':
			rest = b[i+2:]
			if claimed > int64(len(rest)) {
				return 0, nil, false
			}
			return int(claimed), rest, true
		default:
			return 0, nil, false
		}
	}
	return 0, nil, false
}

// Args walks over the elements of an encoded command, the name first. The zero
// value has none. It holds places and not slices of what is left, so that the
// command need not be on the heap.
type Args struct {
	cmd            []byte
	begin, all     int // of the elements: where the first begins, how many there are
	next, returned int
}

// ArgsOf returns the elements of a command; none if cmd does not begin with one.
func ArgsOf(cmd []byte) Args {
	n, rest, ok := header(cmd, '*')
	if !ok {
		return Args{}
	}
	begin := len(cmd) - len(rest)
	return Args{cmd: cmd, begin: begin, all: n, next: begin}
}

// Len returns how many elements are left, as far as the header of the command
// can be believed.
func (a *Args) Len() int { return a.all - a.returned }

// Next returns the next element, which is part of the command; ok is false if
// there is none.
func (a *Args) Next() (arg []byte, ok bool) {
	if a.returned >= a.all {
		return nil, false
	}
	size, body, ok := header(a.cmd[a.next:], '$')
	if !ok || size > len(body)-2 {
		a.returned = a.all
		return nil, false
	}
	from := len(a.cmd) - len(body)
	a.next = from + size + 2
	a.returned++
	return a.cmd[from : from+size : from+size], true
}

// Skip leaves out n elements.
func (a *Args) Skip(n int) {
	for ; n > 0; n-- {
		if _, ok := a.Next(); !ok {
			return
		}
	}
}

// Seek makes the i-th element the next one, 0 being the name.
func (a *Args) Seek(i int) {
	if i < a.returned || a.returned >= a.all {
		a.next, a.returned = a.begin, 0
	}
	a.Skip(i - a.returned)
}
