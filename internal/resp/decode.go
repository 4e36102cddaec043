package resp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrNull says that a reply is null where a value was asked for.
var ErrNull = errors.New("null reply")

// Cut returns the first of several replies, which were framed before, and what
// follows it. Both are nil if there is no complete reply.
func Cut(replies []byte) (first, rest []byte) {
	f := Framer{limit: math.MaxInt64} // the limit that held when they were framed is not known here
	n, done, err := f.Next(replies)
	if !done || err != nil {
		return nil, nil
	}
	return replies[:n], replies[n:]
}

// IsError reports whether a complete reply is an error.
func IsError(reply []byte) bool {
	return len(reply) > 0 && (reply[0] == '-' || reply[0] == '!')
}

// IsNull reports whether a complete reply is one of the nulls of RESP2 and
// RESP3.
func IsNull(reply []byte) bool {
	return len(reply) >= 2 && (reply[0] == '_' || (reply[0] == '$' || reply[0] == '*') && reply[1] == '-')
}

// EndsExec reports whether a complete reply to EXEC is an error with which the server has discarded
// the transaction: EXECABORT, or what a node of a cluster replies if it does not
// serve the slot of the transaction's keys. After any other error of an old server, such as LOADING before Redis 6.2,
// the transaction is still open. Source: processCommand in server.c.
func EndsExec(reply []byte) bool {
	if !IsError(reply) {
		return false
	}
	switch code, _, _ := bytes.Cut(ErrorText(reply), []byte(" ")); string(code) {
	case "EXECABORT", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "CROSSSLOT":
		return true
	}
	return false
}

// ErrorText returns the text of a complete error reply without its type byte,
// length and CRLF. The result is part of reply.
func ErrorText(reply []byte) []byte {
	if len(reply) < 3 {
		return nil
	}
	if reply[0] == '!' {
		n, size, ok := sizeLine(reply)
		if !ok || size > len(reply)-n {
			return nil
		}
		return reply[n : n+size]
	}
	return reply[1 : len(reply)-2]
}

// Int returns the value of a complete reply that is an integer, or a string
// that holds one.
func Int(reply []byte) (int64, error) {
	if n := len(reply); n >= 4 && reply[0] == ':' {
		if v, ok := parseInt(reply[1 : n-2]); ok {
			return v, nil
		}
	}
	if IsNull(reply) {
		return 0, ErrNull
	}
	b := scalar(reply)
	v, err := strconv.ParseInt(string(b), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, strconv.ErrRange
	case b == nil || err != nil:
		return 0, wrongType(reply, "an integer")
	}
	return v, nil
}

// Bytes returns the text of a complete reply that is a string, a number or a
// boolean. The result is part of reply.
func Bytes(reply []byte) ([]byte, error) {
	if IsNull(reply) {
		return nil, ErrNull
	}
	if b := scalar(reply); b != nil {
		return b, nil
	}
	return nil, wrongType(reply, "a string")
}

func wrongType(reply []byte, want string) error {
	return fmt.Errorf("reply of type %q is not %s", kindOf(reply), want)
}

func kindOf(reply []byte) byte {
	if len(reply) == 0 {
		return 0
	}
	return reply[0]
}

// scalar returns the text of a string or number, nil for everything else.
func scalar(reply []byte) []byte {
	if len(reply) < 3 {
		return nil
	}
	switch reply[0] {
	case ':', '+', ',', '(', '#':
		return reply[1 : len(reply)-2]
	case '$', '=':
		n, size, ok := sizeLine(reply)
		if !ok || size > len(reply)-n {
			return nil
		}
		body := reply[n : n+size]
		const format = len("txt:") // a verbatim string begins with its format
		if reply[0] == '=' && size >= format {
			body = body[format:]
		}
		return body
	}
	return nil
}

// sizeLine parses the header at the beginning of reply and returns its length
// and its number.
func sizeLine(reply []byte) (n, size int, ok bool) {
	size, rest, ok := header(reply, kindOf(reply))
	return len(reply) - len(rest), size, ok
}

func parseInt(b []byte) (v int64, ok bool) {
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	const safe = 18 // digits that cannot overflow
	if len(b) == 0 || len(b) > safe {
		return 0, false
	}
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if neg {
		v = -v
	}
	return v, true
}

// Array returns the elements of a complete reply that is an array, a set or a map; those of
// a map are its names and values in turn. ok is false for any other reply. The elements are
// part of the reply.
func Array(reply []byte) (elements [][]byte, ok bool) {
	kind := kindOf(reply)
	n, rest, ok := header(reply, kind)
	if !ok || !strings.ContainsRune("*~%", rune(kind)) {
		return nil, false
	}
	if kind == '%' {
		n *= 2
	}
	for ; n > 0; n-- { // what the header claims is not believed
		var first []byte
		if first, rest = Cut(rest); first == nil {
			return nil, false
		}
		elements = append(elements, first)
	}
	if len(rest) > 0 {
		return nil, false
	}
	return elements, true
}

// Map returns the values by their names, of a map or of an array of names and values, as
// which RESP2 sends one. ok is false for any other reply.
func Map(reply []byte) (values map[string][]byte, ok bool) {
	list, ok := Array(reply)
	if !ok || len(list)%2 != 0 {
		return nil, false
	}
	values = make(map[string][]byte, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, err := Bytes(list[i])
		if err != nil {
			return nil, false
		}
		values[string(name)] = list[i+1]
	}
	return values, true
}

// AppendInts appends the elements of a complete reply that is an array of integers, with at least one
// element. ok is false for any other reply, and if an integer has more than 18 digits; then nothing is
// appended, but what follows the elements of to may be overwritten.
func AppendInts(to []int64, reply []byte) (all []int64, ok bool) {
	n, rest, ok := header(reply, '*')
	if !ok || n <= 0 {
		return to, false
	}
	const shortest = len(":1\r\n")
	for all = slices.Grow(to, min(n, len(rest)/shortest)); n > 0; n-- { // what the header claims is not believed
		end := bytes.IndexByte(rest, '\r')
		if end < 2 || len(rest) < end+2 || rest[0] != ':' {
			return to, false
		}
		v, ok := parseInt(rest[1:end])
		if !ok {
			return to, false
		}
		all, rest = append(all, v), rest[end+2:]
	}
	if len(rest) > 0 {
		return to, false
	}
	return all, true
}
