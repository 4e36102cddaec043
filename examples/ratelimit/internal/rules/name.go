package rules

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	longestName = 64 // of a limit.Rule
	hashLength  = 12 // hexadecimal digits
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
	sum := sha256.Sum256(identity)
	name = name[:min(len(name), longestName-hashLength-1)]
	return string(name) + "-" + hex.EncodeToString(sum[:hashLength/2])
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
