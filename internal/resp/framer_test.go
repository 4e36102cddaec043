package resp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// replies has every type of RESP2 and RESP3, each with the kind that the
// framer must report.
var replies = []struct {
	name, text string
	kind       byte
}{
	{"simple", "+OK\r\n", '+'},
	{"empty simple", "+\r\n", '+'},
	{"simple with CR", "+a\rb\r\r\n", '+'},
	{"long simple", "+" + strings.Repeat("x", 100) + "\r\n", '+'},
	{"error", "-ERR no\r\n", '-'},
	{"int", ":123\r\n", ':'},
	{"negative int", ":-1\r\n", ':'},
	{"largest int", ":9223372036854775807\r\n", ':'},
	{"bulk", "$5\r\nhello\r\n", '$'},
	{"bulk with CRLF", "$6\r\n\r\n\r\n\r\n\r\n", '$'},
	{"empty bulk", "$0\r\n\r\n", '$'},
	{"null bulk", "$-1\r\n", '$'},
	{"null array", "*-1\r\n", '*'},
	{"empty array", "*0\r\n", '*'},
	{"array", "*2\r\n:1\r\n$1\r\na\r\n", '*'},
	{"nested array", "*3\r\n*0\r\n*2\r\n*1\r\n+a\r\n*-1\r\n:1\r\n", '*'},
	{"map", "%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*1\r\n_\r\n", '%'},
	{"empty map", "%0\r\n", '%'},
	{"set", "~2\r\n+a\r\n+b\r\n", '~'},
	{"push", ">2\r\n+message\r\n$1\r\nx\r\n", '>'},
	{"null", "_\r\n", '_'},
	{"double", ",3.14\r\n", ','},
	{"infinity", ",-inf\r\n", ','},
	{"boolean", "#t\r\n", '#'},
	{"blob error", "!5\r\nERR x\r\n", '!'},
	{"verbatim", "=7\r\ntxt:abc\r\n", '='},
	{"big number", "(3492890328409238509324850943850943825024385\r\n", '('},
	{"attribute before", "|1\r\n+ttl\r\n:3\r\n$1\r\na\r\n", '$'},
	{"empty attribute before", "|0\r\n:1\r\n", ':'},
	{"attributes before an aggregate", "|1\r\n+a\r\n*1\r\n:1\r\n|1\r\n+b\r\n_\r\n*1\r\n+c\r\n", '*'},
	{"attribute inside an array", "*3\r\n:1\r\n|1\r\n+ttl\r\n%1\r\n+x\r\n:3600\r\n:2\r\n|0\r\n:3\r\n", '*'},
	{"attribute inside an attribute", "|1\r\n|1\r\n+a\r\n+b\r\n+key\r\n+value\r\n:7\r\n", ':'},
	{"attribute at an array's end", "*1\r\n|1\r\n+a\r\n+b\r\n*1\r\n|1\r\n+c\r\n+d\r\n:1\r\n", '*'},
}

// frame is a reply as the framer found it.
type frame struct {
	text string
	kind byte
	why  TooMuch
}

// frames feeds the chunks one by one and returns the frames, what is left, and
// the error.
func frames(t testing.TB, f framer, chunks ...[]byte) (found []frame, rest string, err error) {
	t.Helper()
	var current []byte
	for _, p := range chunks {
		for len(p) > 0 {
			n, done, err := f.Next(p)
			if n <= 0 || n > len(p) { // require's functions would take most of the time
				t.Fatalf("Next of %d bytes returned %d", len(p), n)
			}
			current = append(current, p[:n]...)
			if err != nil {
				require.ErrorIs(t, err, ErrProtocol)
				return found, string(current), err
			}
			if done != f.Idle() {
				t.Fatalf("done is %v and Idle %v: after a reply, and only there, the framer is idle", done, f.Idle())
			}
			if p = p[n:]; done {
				found = append(found, frame{string(current), f.Kind(), f.Refused()})
				current = nil
			} else if len(p) > 0 {
				t.Fatalf("a reply that is not complete uses all bytes, not %d less", len(p))
			}
		}
	}
	return found, string(current), nil
}

type framer interface {
	Next(p []byte) (n int, done bool, err error)
	Kind() byte
	Refused() TooMuch
	Idle() bool
}

// A skipper is a Framer that does not look at the bytes of bulk strings.
type skipper struct{ *Framer }

func (s skipper) Next(p []byte) (n int, done bool, err error) {
	if n = int(min(s.Bulk(), int64(len(p)))); n > 0 {
		if err := s.Skip(n); err != nil || n == len(p) {
			return n, false, err
		}
	}
	used, done, err := s.Framer.Next(p[n:])
	return n + used, done, err
}

func singly(p []byte) [][]byte {
	var chunks [][]byte
	for i := range p {
		chunks = append(chunks, p[i:i+1])
	}
	return chunks
}

func TestFramerFindsEveryTypeSplitAnywhere(t *testing.T) {
	for _, r := range replies {
		t.Run(r.name, func(t *testing.T) {
			const next = ":5\r\n" // the reply behind, to see that the state is clean
			stream := []byte(r.text + next)
			want := []frame{{r.text, r.kind, NotRefused}, {next, ':', NotRefused}}

			got, rest, err := frames(t, NewFramer(lanes.Limits{}), stream)
			require.NoError(t, err)
			require.Empty(t, rest)
			require.Equal(t, want, got)
			for i := range stream {
				got, rest, err = frames(t, NewFramer(lanes.Limits{}), stream[:i], stream[i:])
				require.NoError(t, err)
				require.Empty(t, rest)
				require.Equal(t, want, got, "split at %d", i)
			}
			got, _, err = frames(t, NewFramer(lanes.Limits{}), singly(stream)...)
			require.NoError(t, err)
			require.Equal(t, want, got, "byte by byte")
		})
	}
}

func TestFramerFindsAllRepliesOfOneChunk(t *testing.T) {
	var stream string
	var want []frame
	for _, r := range replies {
		stream += r.text
		want = append(want, frame{r.text, r.kind, NotRefused})
	}
	for size := 1; size <= len(stream); size++ {
		var chunks [][]byte
		for p := []byte(stream); len(p) > 0; {
			n := min(size, len(p))
			chunks, p = append(chunks, p[:n]), p[n:]
		}
		got, rest, err := frames(t, NewFramer(lanes.Limits{}), chunks...)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, want, got, "chunks of %d", size)
	}
}

func TestFramerWaitsForTheRest(t *testing.T) {
	for _, r := range replies {
		for i := 1; i < len(r.text); i++ {
			f := NewFramer(lanes.Limits{})
			n, done, err := f.Next([]byte(r.text[:i]))
			require.NoError(t, err)
			require.False(t, done, "%q", r.text[:i])
			require.Equal(t, i, n)
			require.False(t, f.Idle())
		}
	}
	f := NewFramer(lanes.Limits{})
	n, done, err := f.Next(nil)
	assert.Zero(t, n)
	assert.False(t, done)
	assert.NoError(t, err)
	assert.True(t, f.Idle())
}

func TestFramerKindOfAnAttributeIsNotKnownBeforeItsValue(t *testing.T) {
	f := NewFramer(lanes.Limits{})
	_, _, err := f.Next([]byte("|1\r\n+a\r\n+b\r\n"))
	require.NoError(t, err)
	assert.Zero(t, f.Kind())
	_, _, err = f.Next([]byte(">"))
	require.NoError(t, err)
	assert.Equal(t, byte('>'), f.Kind())
}

// Idle reports whether the Framer is between two replies.
func (f *Framer) Idle() bool { return f.size == 0 }
