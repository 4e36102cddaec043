package slots

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// A replyReader walks through a complete RESP frame that is not trusted.
type replyReader struct {
	b   []byte
	off int
}

// A malformed says what is wrong at an offset of a reply.
type malformed struct {
	at        int
	want, got string
}

func (e *malformed) Error() string {
	return fmt.Sprintf("CLUSTER SLOTS reply, byte %d: want %s, got %s", e.at, e.want, e.got)
}

// fail describes what is wrong at an offset.
func (r *replyReader) fail(at int, want string) error {
	got := "the end"
	if at < len(r.b) {
		got = strconv.QuoteToASCII(string(r.b[at:min(at+12, len(r.b))]))
	}
	return &malformed{at, want, got}
}

// cut passes over one value, which is nested at most depth deep, and returns a reader
// for that value alone.
func (r *replyReader) cut(depth int) (replyReader, error) {
	from := r.off
	err := r.skip(depth)
	return replyReader{b: r.b[:r.off], off: from}, err
}

// line reads the first line of a value: its type and the text after it.
func (r *replyReader) line(want string) (kind byte, text []byte, err error) {
	if r.off >= len(r.b) {
		return 0, nil, r.fail(r.off, want)
	}
	n := bytes.Index(r.b[r.off:], crlf)
	if n < 1 {
		return 0, nil, r.fail(r.off, want)
	}
	text = r.b[r.off+1 : r.off+n]
	kind = r.b[r.off]
	r.off += n + 2
	return kind, text, nil
}

// array reads the header of an array with min to max elements.
func (r *replyReader) array(want string, min, max int) (int, error) {
	at := r.off
	if at >= len(r.b) || r.b[at] != '*' {
		return 0, r.fail(at, want)
	}
	n, err := r.elements(want)
	if err == nil && (n < min || n > max) {
		err = r.fail(at, want)
	}
	return n, err
}

// elements reads the header of an array or a map and returns how many values
// follow: no more than there are bytes for.
func (r *replyReader) elements(want string) (int, error) {
	at := r.off
	kind, text, err := r.line(want)
	if err != nil {
		return 0, err
	}
	n, err := atoi(text)
	if kind == '%' || kind == '|' {
		n *= 2
	}
	if err != nil || n < 0 || n > (len(r.b)-r.off)/len("_\r\n") {
		return 0, r.fail(at, want)
	}
	return n, nil
}

// integer reads a number between min and max.
func (r *replyReader) integer(want string, min, max int) (int, error) {
	at := r.off
	kind, text, err := r.line(want)
	if err != nil {
		return 0, err
	}
	n, err := atoi(text)
	if kind != ':' || err != nil || n < min || n > max {
		return 0, r.fail(at, fmt.Sprintf("%s from %d to %d", want, min, max))
	}
	return n, nil
}

// text reads a bulk or simple string; of a null it returns nil.
func (r *replyReader) text(want string) ([]byte, error) {
	at := r.off
	kind, text, err := r.line(want)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+':
		return text, nil
	case '_':
		if len(text) == 0 {
			return nil, nil
		}
	case '$':
		if string(text) == "-1" {
			return nil, nil
		}
		if n, err := atoi(text); err == nil && n >= 0 {
			return r.bulk(at, n, want)
		}
	}
	return nil, r.fail(at, want)
}

// bulk reads n bytes and the line end after them.
func (r *replyReader) bulk(at, n int, want string) ([]byte, error) {
	if n > len(r.b)-r.off-len(crlf) || string(r.b[r.off+n:r.off+n+2]) != "\r\n" {
		return nil, r.fail(at, want)
	}
	s := r.b[r.off : r.off+n]
	r.off += n + 2
	return s, nil
}

// isNullArray reports whether the next value is the null array of RESP2.
func (r *replyReader) isNullArray() bool { return bytes.HasPrefix(r.b[r.off:], nullArray) }

var nullArray = []byte("*-1\r\n")

// skip passes over any value that is nested at most depth deep.
func (r *replyReader) skip(depth int) error {
	const want = "a value"
	if r.off >= len(r.b) || depth <= 0 {
		return r.fail(r.off, "a value nested less deep")
	}
	if r.isNullArray() {
		r.off += len(nullArray)
		return nil
	}
	switch kind := r.b[r.off]; kind {
	case '$', '+', '_':
		_, err := r.text(want)
		return err
	case '!', '=':
		at := r.off
		_, text, err := r.line(want)
		if err != nil {
			return err
		}
		n, err := atoi(text)
		if err != nil || n < 0 {
			return r.fail(at, want)
		}
		_, err = r.bulk(at, n, want)
		return err
	case ':', ',', '#', '(', '-':
		_, _, err := r.line(want)
		return err
	case '*', '~', '%', '|':
		n, err := r.elements(want)
		if kind == '|' {
			n++ // the value behind an attribute
		}
		for i := 0; i < n && err == nil; i++ {
			err = r.skip(depth - 1)
		}
		return err
	}
	return r.fail(r.off, want)
}

var errNumber = errors.New("not a number of up to nine digits")

// atoi parses what RESP headers and ports may hold: no sign but '-', no more
// digits than an int32 can hold.
func atoi(b []byte) (int, error) {
	digits, sign := b, 1
	if len(b) > 0 && b[0] == '-' {
		digits, sign = b[1:], -1
	}
	if len(digits) == 0 || len(digits) > 9 {
		return 0, errNumber
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
		n = n*10 + int(c-'0')
	}
	return sign * n, nil
}
