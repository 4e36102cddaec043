package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

const (
	longestName = 64  // of a limit.Rule
	hashLength  = 12  // hexadecimal digits
	longestKey  = 512 // that is sent to Redis as it is
)

// nameOf returns the name of the limit at the end of the path, such as
// messaging.message_type_marketing.to_number-0c8a5be2b6a4. What package limit does
// not allow in a name becomes an underscore. Unless the text can only mean this path (no
// values, no dots in a key, nothing replaced, not too long), a hash of the path
// follows.
func nameOf(domain string, path []Entry) string {
	name, plain := appendWord(nil, domain, true)
	identity := appendPart(nil, domain)
	for _, e := range path {
		name, plain = appendWord(append(name, '.'), e.Key, plain)
		identity = appendPart(append(identity, 'k'), e.Key)
		if e.Value == "" {
			continue
		}
		name, _ = appendWord(append(name, '_'), e.Value, false)
		identity = appendPart(append(identity, 'v'), e.Value)
		plain = false
	}
	if plain && len(name) <= longestName {
		return string(name)
	}
	name = name[:min(len(name), longestName-hashLength-1)]
	return string(name) + "-" + hash(identity)[:hashLength]
}

// appendWord appends a part of a name. It reports whether the parts before were plain
// and this one is, too.
func appendWord(name []byte, word string, plain bool) ([]byte, bool) {
	for i := range len(word) {
		switch c := word[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			name = append(name, c)
		case c == '.':
			name, plain = append(name, c), false
		default:
			name, plain = append(name, '_'), false
		}
	}
	return name, plain
}

// appendPart appends what a request says, with its length in front: no two lists of
// parts become the same key.
func appendPart(key []byte, part string) []byte {
	key = strconv.AppendInt(key, int64(len(part)), 10)
	key = append(key, ':')
	return append(key, part...)
}

// finish makes a key of the parts. They begin with a digit, so that no others become
// what this adds.
func finish(parts []byte) string {
	switch {
	case len(parts) > longestKey:
		return "sha256:" + hash(parts)
	case bytes.IndexByte(parts, '{') >= 0:
		// The first braces of a key choose its slot, unless there is nothing
		// between them. Requests must not choose it: one node would have all keys.
		return "{}" + string(parts)
	}
	return string(parts)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
