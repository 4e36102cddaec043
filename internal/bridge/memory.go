package bridge

import (
	"bytes"
	"io"
)

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
