package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// longestKey is how long a key may be that is sent to Redis as it is.
const longestKey = 512

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
		sum := sha256.Sum256(parts)
		return "sha256:" + hex.EncodeToString(sum[:])
	case bytes.IndexByte(parts, '{') >= 0:
		// The first braces of a key choose its slot, unless there is nothing
		// between them. Requests must not choose it: one node would have all keys.
		return "{}" + string(parts)
	}
	return string(parts)
}
