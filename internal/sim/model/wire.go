package model

import (
	"bytes"
	"fmt"
)

const (
	chunkSize = 16 << 10
	firstRoom = 2 << 10 // of a connection, most of which live for some commands
	maxBulk   = 512 << 20
	maxArgs   = 1<<31 - 1
)

// A parser reads commands from bytes as they come. The commands' arguments stay
// valid: no byte is overwritten.
type parser struct {
	buf []byte // what has come and was not taken; its capacity is free
}

// room returns memory for the next bytes, to be told of with grew.
func (p *parser) room() []byte {
	if cap(p.buf)-len(p.buf) < 512 {
		grown := make([]byte, len(p.buf), max(firstRoom, 4*len(p.buf)))
		copy(grown, p.buf)
		p.buf = grown
	}
	return p.buf[len(p.buf):cap(p.buf)]
}

func (p *parser) grew(n int) { p.buf = p.buf[:len(p.buf)+n] }

// add adds bytes from elsewhere.
func (p *parser) add(b []byte) { p.buf = append(p.buf, b...) }

// protocolError is what a server says before it hangs up.
type protocolError string

func (e protocolError) Error() string { return "ERR Protocol error: " + string(e) }

// next takes a command; nil args if it has not come whole, and no args if it is
// an empty one.
func (p *parser) next() (args [][]byte, err error) {
	if len(p.buf) == 0 {
		return nil, nil
	}
	if p.buf[0] != '*' {
		return p.inline()
	}
	rest := p.buf
	n, rest, ok, err := number(rest[1:], "invalid multibulk length", maxArgs)
	if !ok || err != nil {
		return nil, err
	}
	args = make([][]byte, 0, min(max(n, 0), 64))
	for range n {
		var arg []byte
		if arg, rest, err = bulk(rest); arg == nil || err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	p.buf = rest
	return args, nil
}

// bulk reads an argument; nil if it has not come whole.
func bulk(b []byte) (arg, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, nil
	}
	if b[0] != '$' {
		return nil, nil, protocolError(fmt.Sprintf("expected '$', got '%c'", b[0]))
	}
	size, rest, ok, err := number(b[1:], "invalid bulk length", maxBulk)
	switch {
	case err != nil || !ok:
		return nil, nil, err
	case size < 0:
		return nil, nil, protocolError("invalid bulk length")
	case int64(len(rest)) < size+2:
		return nil, nil, nil
	}
	return rest[:size:size], rest[size+2:], nil
}

func number(b []byte, wrong string, most int64) (n int64, rest []byte, ok bool, err error) {
	end := bytes.IndexByte(b, '\n')
	if end < 1 {
		if len(b) > chunkSize {
			return 0, nil, false, protocolError("too big mbulk count string")
		}
		return 0, nil, false, nil
	}
	n, ok = parseInt(b[:end-1])
	if !ok || n > most {
		return 0, nil, false, protocolError(wrong)
	}
	return n, b[end+1:], true, nil
}

// inline takes a command as a person types it, without quotes.
func (p *parser) inline() ([][]byte, error) {
	end := bytes.IndexByte(p.buf, '\n')
	if end < 0 {
		if len(p.buf) > chunkSize {
			return nil, protocolError("too big inline request")
		}
		return nil, nil
	}
	line := p.buf[:end]
	p.buf = p.buf[end+1:]
	return append([][]byte{}, bytes.Fields(line)...), nil
}
