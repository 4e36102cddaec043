package resp

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// replies has every type of RESP2 and RESP3, each with the kind that the framer must report. Attributes
// are marked by braces.
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
	{"attribute before", "{|1\r\n+ttl\r\n:3\r\n}$1\r\na\r\n", '$'},
	{"empty attribute before", "{|0\r\n}:1\r\n", ':'},
	{"attributes before a push", "{|0\r\n}{|1\r\n+a\r\n*1\r\n:1\r\n}>1\r\n+a\r\n", '>'},
	{"attribute inside an array", "*3\r\n:1\r\n{|1\r\n+ttl\r\n%1\r\n+x\r\n:3600\r\n}:2\r\n{|0\r\n}:3\r\n", '*'},
	{"attribute at an array's end", "*1\r\n{|1\r\n+a\r\n+b\r\n}*1\r\n{|1\r\n+c\r\n+d\r\n}:1\r\n", '*'},
}

// frame is a reply or a push as the framer found it, without attributes.
type frame struct {
	text string
	kind byte
}

var braces = strings.NewReplacer("{", "", "}", "")

// sent returns what arrives of a text in replies, and told what is left of it without its attributes.
func sent(text string) []byte { return []byte(braces.Replace(text)) }

func told(text string) string {
	for {
		before, rest, found := strings.Cut(text, "{")
		if !found {
			return text
		}
		_, after, _ := strings.Cut(rest, "}")
		text = before + after
	}
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
			if f.Aside() != '|' {
				current = append(current, p[:n]...)
			}
			if err != nil {
				require.ErrorIs(t, err, ErrProtocol)
				return found, string(current), err
			}
			if p = p[n:]; done {
				kind := f.Kind()
				if f.Aside() == '>' {
					kind = '>'
				}
				found = append(found, frame{string(current), kind})
				current = nil
			}
		}
	}
	return found, string(current), nil
}

type framer interface {
	Next(p []byte) (n int, done bool, err error)
	Kind() byte
	Aside() byte
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
			stream := sent(r.text + next)
			want := []frame{{told(r.text), r.kind}, {next, ':'}}
			for i := range len(stream) + 1 {
				got, rest, err := frames(t, NewFramer(DefaultMaxReply), stream[:i], stream[i:])
				require.NoError(t, err)
				require.Empty(t, rest)
				require.Equal(t, want, got, "split at %d", i)
			}
			got, _, err := frames(t, NewFramer(DefaultMaxReply), singly(stream)...)
			require.NoError(t, err)
			require.Equal(t, want, got, "byte by byte")
		})
	}
}

func TestFramerFindsAllRepliesOfOneChunk(t *testing.T) {
	var stream []byte
	var want []frame
	for _, r := range replies {
		stream = append(stream, sent(r.text)...)
		want = append(want, frame{told(r.text), r.kind})
	}
	for size := 1; size <= len(stream); size++ {
		got, rest, err := frames(t, NewFramer(DefaultMaxReply), slices.Collect(slices.Chunk(stream, size))...)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, want, got, "chunks of %d", size)
	}
}

func nested(depth int) string { return strings.Repeat("*1\r\n", depth) + ":1\r\n" }

// TestFramerLimits: each stream is refused, or not, in whatever pieces it arrives.
func TestFramerLimits(t *testing.T) {
	const most = DefaultMaxReply
	for name, c := range map[string]struct {
		limit  int64
		stream string
		fits   bool
	}{
		"no type":                {most, "x\r\n", false},
		"a NUL":                  {most, "\x00", false},
		"HTTP":                   {most, "HTTP/1.1 400 Bad Request\r\n\r\n", false},
		"LF alone":               {most, "+OK\n", false},
		"LF alone, empty":        {most, "+\n", false},
		"no CRLF behind a bulk":  {most, "$2\r\nabcd", false},
		"no LF behind a bulk":    {most, "$2\r\nab\rx", false},
		"$-5":                    {most, "$-5\r\n", false},
		"*-5":                    {most, "*-5\r\n", false},
		"$-0":                    {most, "$-0\r\n", false},
		"$--1":                   {most, "$--1\r\n", false},
		"$1-":                    {most, "$1-\r\n", false},
		"$+1":                    {most, "$+1\r\na\r\n", false},
		"no length":              {most, "$\r\n", false},
		"minus only":             {most, "$-\r\n", false},
		"CR twice":               {most, "$1\r\r\n", false},
		"digit behind CR":        {most, "$1\r1", false},
		"LF in a header":         {most, "$1\n", false},
		"null map":               {most, "%-1\r\n", false},
		"null push":              {most, ">-1\r\n", false},
		"null attribute":         {most, "|-1\r\n", false},
		"streamed array":         {most, "*?\r\n", false},
		"bulk of 18 digits":      {most, "$999999999999999999\r\n", false},
		"bulk of 19 digits":      {most, "$9223372036854775807\r\n", false},
		"bulk that overflows":    {most, "$18446744073709551617\r\n", false},
		"huge array":             {most, "*2147483647\r\n", false},
		"huge map":               {most, "%999999999999999999\r\n", false},
		"endless zeros":          {most, "$" + strings.Repeat("0", 19), false},
		"zeros":                  {most, "$000000000000000003\r\nabc\r\n", true},
		"bulk over the limit":    {8, "$5\r\nhello\r\n", false},
		"bulk at the limit":      {11, "$5\r\nhello\r\n", true},
		"line over the limit":    {30, "+" + strings.Repeat("x", 30), false},
		"int over the limit":     {5, ":123\r\n", false},
		"int at the limit":       {6, ":123\r\n", true},
		"array over the limit":   {10, "*3\r\n:1\r\n:2\r\n:3\r\n", false},
		"array at the limit":     {16, "*3\r\n:1\r\n:2\r\n:3\r\n", true},
		"attributes for ever":    {100, strings.Repeat("|0\r\n", 26), false},
		"many attributes":        {most, strings.Repeat("|0\r\n", 100_000) + "+OK\r\n", true},
		"attribute of attribute": {most, "|1\r\n|1\r\n", false},
		"nested":                 {most, nested(maxDepth), true},
		"nested too deep":        {most, nested(maxDepth + 1), false},
		"garbage behind a reply": {most, ":1\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			stream := []byte(c.stream)
			whole, _, err := frames(t, NewFramer(c.limit), stream)
			require.Equal(t, c.fits, err == nil, "%v", err)
			split, _, errSplit := frames(t, NewFramer(c.limit), singly(stream)...)
			require.Equal(t, c.fits, errSplit == nil, "%v", errSplit)
			require.Equal(t, whole, split)
		})
	}
}
