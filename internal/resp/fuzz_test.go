package resp

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

func seed(f *testing.F, add func(stream []byte)) {
	for _, r := range replies {
		add([]byte(r.text))
	}
	for _, s := range []string{"$-5\r\n", "*2147483647\r\n", "$999999999999999999\r\n", "+a\n", "|0\r\n|0\r\n", "*1\r\n$-1\r\n:\r\n", "x",
		nested(3) + "+a\r\n", "*2\r\n" + nested(5) + ":1\r\n:2\r\n", "%1\r\n|1\r\n+a\r\n" + nested(2) + ":1\r\n|0\r\n|0\r\n|0\r\n:2\r\n"} {
		add([]byte(s))
	}
}

// FuzzFramer: frames are found in any stream, no more bytes are used than
// there are, and pieces of any size give the same result.
func FuzzFramer(f *testing.F) {
	seed(f, func(stream []byte) { f.Add(stream, uint8(3), uint8(9)) })
	f.Fuzz(func(t *testing.T, stream []byte, size, small uint8) {
		limits := lanes.Limits{Bulk: 1 << 10, Elements: 1 << 10, Line: int64(small), Reply: 1 << 12, Depth: int(small % 33), Attributes: int64(small % 5)}
		whole, rest, err := frames(t, NewFramer(limits), stream)
		var used bytes.Buffer
		for _, w := range whole {
			used.WriteString(w.text)
		}
		used.WriteString(rest)
		require.True(t, bytes.HasPrefix(stream, used.Bytes()))
		if err == nil {
			require.Equal(t, len(stream), used.Len())
		}

		var chunks [][]byte
		for p := stream; len(p) > 0; {
			n := min(int(size)%7+1, len(p))
			chunks, p = append(chunks, p[:n]), p[n:]
		}
		for _, w := range whole {
			requireFramed(t, w, WithDefaults(limits))
		}
		for _, f := range []framer{NewFramer(limits), skipper{NewFramer(limits)}} {
			pieces, restOfPieces, errOfPieces := frames(t, f, chunks...)
			require.Equal(t, whole, pieces)
			require.Equal(t, err == nil, errOfPieces == nil, "%v or %v", err, errOfPieces)
			if err == nil {
				require.Equal(t, rest, restOfPieces)
			}
		}
	})
}

// FuzzEncode: arguments of any bytes come back as they were.
func FuzzEncode(f *testing.F) {
	f.Add("SET", "key", []byte("a\r\nb\x00"), int64(math.MinInt64))
	f.Add("", "", []byte{}, int64(0))
	f.Add("*1\r\n$1\r\n", "\r\n", []byte("$-1\r\n"), int64(-1))
	f.Fuzz(func(t *testing.T, name, key string, value []byte, n int64) {
		cmd := AppendArray(nil, 4)
		cmd = AppendBulk(cmd, name)
		cmd = AppendBulk(cmd, key)
		cmd = AppendBulk(cmd, value)
		cmd = AppendBulkInt(cmd, n)

		found, rest, err := frames(t, NewFramer(lanes.Limits{}), cmd)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, []frame{{string(cmd), '*', NotRefused}}, found)
		require.Len(t, cmd, CommandLen(cmd))
		require.Equal(t, name, CommandName(cmd))
		for i, want := range []string{name, key, string(value)} {
			arg, ok := Argument(cmd, i)
			require.True(t, ok)
			require.Equal(t, want, string(arg))
		}
		digits, ok := Argument(cmd, 3)
		require.True(t, ok)
		got, err := Int(AppendBulk(nil, digits))
		require.NoError(t, err)
		require.Equal(t, n, got)
	})
}

// FuzzDecode: no complete frame makes a decoder panic, and what they return is
// part of the frame.
func FuzzDecode(f *testing.F) {
	seed(f, func(stream []byte) { f.Add(stream) })
	f.Fuzz(func(t *testing.T, stream []byte) {
		_, _ = Argument(stream, 1)
		_, _ = CommandName(stream), CommandLen(stream)
		found, _, _ := frames(t, NewFramer(lanes.Limits{}), stream)
		for _, r := range found {
			reply := []byte(r.text)
			value := SkipAttributes(reply)
			require.True(t, bytes.HasSuffix(reply, value))
			require.Equal(t, r.kind, value[0])
			first, rest := Cut(reply)
			require.Equal(t, reply, first)
			require.Empty(t, rest)

			whole, rest := parse(reply)
			require.Empty(t, rest)
			require.Equal(t, whole.plain(), string(WithoutAttributes(reply)))
			require.Equal(t, whole.plain()+":1\r\n", string(WithoutAttributes(append(reply, ":1\r\n"...))))

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
