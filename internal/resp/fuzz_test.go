package resp

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func seed(f *testing.F, add func(stream []byte)) {
	for _, r := range replies {
		add(sent(r.text))
	}
	for _, s := range []string{"$-5\r\n", "*2147483647\r\n", "$999999999999999999\r\n", "+a\n", "|0\r\n|0\r\n", "*1\r\n$-1\r\n:\r\n", "x",
		nested(3) + "+a\r\n", "*2\r\n" + nested(5) + ":1\r\n:2\r\n", "%1\r\n|1\r\n+a\r\n" + nested(2) + ":1\r\n|0\r\n|0\r\n|0\r\n:2\r\n"} {
		add([]byte(s))
	}
}

// FuzzFramer: frames are found in any stream, no more bytes are used than
// there are, and pieces of any size give the same result.
func FuzzFramer(f *testing.F) {
	seed(f, func(stream []byte) { f.Add(stream, uint8(3)) })
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		const limit = 1 << 12
		whole, rest, err := frames(t, NewFramer(limit), stream)
		for _, w := range whole {
			used, done, err := NewFramer(limit).Next([]byte(w.text))
			require.True(t, done && err == nil && used == len(w.text), "%q", w.text)
		}
		chunks := slices.Collect(slices.Chunk(stream, int(size)%7+1))
		for _, f := range []framer{NewFramer(limit), skipper{NewFramer(limit)}} {
			pieces, restOfPieces, errOfPieces := frames(t, f, chunks...)
			require.Equal(t, whole, pieces)
			require.Equal(t, err == nil, errOfPieces == nil, "%v or %v", err, errOfPieces)
			if err == nil {
				require.Equal(t, rest, restOfPieces)
			}
		}
	})
}

// FuzzDecode: no complete frame makes a decoder panic, and what they return is
// part of the frame.
func FuzzDecode(f *testing.F) {
	seed(f, func(stream []byte) { f.Add(stream) })
	f.Fuzz(func(t *testing.T, stream []byte) {
		_, _ = Argument(stream, 1)
		_, _ = CommandName(stream), CommandLen(stream)
		found, _, _ := frames(t, NewFramer(DefaultMaxReply), stream)
		for _, r := range found {
			reply := []byte(r.text)
			first, rest := Cut(reply)
			require.Equal(t, reply, first)
			require.Empty(t, rest)

			require.True(t, bytes.Contains(reply, ErrorText(reply)))
			text, err := Bytes(reply)
			require.True(t, bytes.Contains(reply, text))
			if _, intErr := Int(reply); intErr == nil {
				require.NoError(t, err, "an integer is a text, too")
			}
			require.False(t, IsNull(reply) && (IsError(reply) || err == nil))
		}
	})
}
