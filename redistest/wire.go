package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The proxy's reading of RESP is its own, so that it does not share the faults
// of the one that it tests.

// readCommand reads an array of bulk strings.
func readCommand(r *bufio.Reader) (raw []byte, args []string, err error) {
	line, err := readLine(r)
	if err != nil {
		return nil, nil, err
	}
	n, err := count(line, '*')
	if err != nil {
		return nil, nil, err
	}
	raw = append(raw, line...)
	for range n {
		if line, err = readLine(r); err != nil {
			return nil, nil, err
		}
		size, err := count(line, '$')
		if err != nil {
			return nil, nil, err
		}
		if size < 0 {
			return nil, nil, fmt.Errorf("redistest: %q is no argument", line)
		}
		raw = append(raw, line...)
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(r, arg); err != nil {
			return nil, nil, err
		}
		raw = append(raw, arg...)
		args = append(args, string(arg[:size]))
	}
	return raw, args, nil
}

// readReply appends one reply to raw.
func readReply(r *bufio.Reader, raw []byte) ([]byte, error) {
	line, err := readLine(r)
	if err != nil {
		return raw, err
	}
	raw = append(raw, line...)
	kind := line[0]
	switch kind {
	case '$', '!', '=':
		n, err := count(line, kind)
		if err != nil || n < 0 {
			return raw, err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return append(raw, body...), err
	case '*', '~', '%', '|', '>':
		n, err := count(line, kind)
		if kind == '%' || kind == '|' {
			n *= 2
		}
		if kind == '|' {
			n++ // attributes come before a reply
		}
		for range n {
			if err != nil {
				return raw, err
			}
			raw, err = readReply(r, raw)
		}
		return raw, err
	}
	return raw, nil
}

// readLine reads a line of at most 1 MiB, with its end.
func readLine(r *bufio.Reader) (line []byte, err error) {
	const longest = 1 << 20
	for len(line) <= longest {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, fmt.Errorf("redistest: a line is longer than %d bytes", longest)
}

// count reads the number of a header: what Redis itself takes, or -1 for null.
func count(line []byte, kind byte) (int, error) {
	const most = 512 << 20
	if len(line) < 4 || line[0] != kind {
		return 0, fmt.Errorf("redistest: %q instead of a line that begins with %c", line, kind)
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err == nil && (n < -1 || n > most) {
		err = fmt.Errorf("redistest: %q: want a length of at most %d", line, most)
	}
	return n, err
}
