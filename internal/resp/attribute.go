package resp

import "bytes"

// Attributes of RESP3 stand before the values that they describe, at any place
// and in any number. Nothing here asks for them, and radix's decoder recurses for
// each (12 MB of them overflowed its stack) and does not expect them inside of
// aggregates: they are taken out before.

// SkipAttributes returns a complete reply without the attributes before it.
func SkipAttributes(reply []byte) []byte {
	if len(reply) == 0 || reply[0] != '|' {
		return reply
	}
	for missing := 0; len(reply) > 0; {
		if missing == 0 && reply[0] != '|' {
			return reply
		}
		n, inside, ok := element(reply)
		if !ok {
			break
		}
		if reply[0] != '|' {
			missing--
		}
		missing += inside
		reply = reply[n:]
	}
	return nil
}

// WithoutAttributes returns complete replies without the attributes before and
// inside of them: the same bytes if there are none, and a copy otherwise. It uses
// no stack for what is nested.
func WithoutAttributes(replies []byte) []byte {
	if bytes.IndexByte(replies, '|') < 0 {
		return replies // nearly always
	}
	var kept []byte
	missing, copied := 0, 0 // elements of attributes that are to come; bytes that were kept or dropped
	for at := 0; at < len(replies); {
		n, inside, ok := element(replies[at:])
		switch {
		case !ok:
			return replies
		case replies[at] == '|' && missing == 0:
			kept = append(kept, replies[copied:at]...)
			fallthrough
		case replies[at] == '|':
			missing += inside
			copied = at + n
		case missing > 0:
			missing += inside - 1
			copied = at + n
		}
		at += n
	}
	if copied == 0 {
		return replies // the byte is part of a value
	}
	return append(kept, replies[copied:]...)
}

// element returns the length of the element at the beginning of p, but for what
// is inside of it, and how many elements that is. An attribute's value is not
// inside of it.
func element(p []byte) (n, inside int, ok bool) {
	end := bytes.IndexByte(p, '\n') + 1
	if end < len("+\r\n") {
		return 0, 0, false
	}
	switch p[0] {
	case '$', '!', '=', '*', '~', '>', '%', '|':
	default:
		return end, 0, true
	}
	size, rest, ok := header(p, p[0])
	if !ok {
		return end, 0, p[1] == '-' // one of RESP2's nulls
	}
	switch p[0] {
	case '%', '|':
		return end, 2 * size, true
	case '*', '~', '>':
		return end, size, true
	}
	if size > len(rest)-2 {
		return 0, 0, false
	}
	return end + size + 2, 0, true
}
