package resp

import "strings"

// Array returns the elements of a complete reply that is an array, a set or a map; those of
// a map are its names and values in turn. ok is false for any other reply. The elements are
// part of the reply, which has no attributes: see [WithoutAttributes].
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
