package resp

import (
	"bytes"
	"slices"
	"strings"
)

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
