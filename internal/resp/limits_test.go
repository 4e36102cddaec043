package resp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func nested(depth int) string { return strings.Repeat("*1\r\n", depth) + ":1\r\n" }

// Each stream is refused, and in whatever pieces it arrives.
func TestFramerRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		stream string
	}{
		"no type":                {Limits{}, "x\r\n"},
		"a NUL":                  {Limits{}, "\x00"},
		"HTTP":                   {Limits{}, "HTTP/1.1 400 Bad Request\r\n\r\n"},
		"LF alone":               {Limits{}, "+OK\n"},
		"LF alone, empty":        {Limits{}, "+\n"},
		"no CRLF behind a bulk":  {Limits{}, "$2\r\nabcd"},
		"no LF behind a bulk":    {Limits{}, "$2\r\nab\rx"},
		"$-5":                    {Limits{}, "$-5\r\n"},
		"*-5":                    {Limits{}, "*-5\r\n"},
		"$-0":                    {Limits{}, "$-0\r\n"},
		"$--1":                   {Limits{}, "$--1\r\n"},
		"$1-":                    {Limits{}, "$1-\r\n"},
		"$+1":                    {Limits{}, "$+1\r\na\r\n"},
		"no length":              {Limits{}, "$\r\n"},
		"minus only":             {Limits{}, "$-\r\n"},
		"CR twice":               {Limits{}, "$1\r\r\n"},
		"digit behind CR":        {Limits{}, "$1\r1"},
		"LF in a header":         {Limits{}, "$1\n"},
		"null map":               {Limits{}, "%-1\r\n"},
		"null set":               {Limits{}, "~-1\r\n"},
		"null push":              {Limits{}, ">-1\r\n"},
		"null verbatim":          {Limits{}, "=-1\r\n"},
		"null attribute":         {Limits{}, "|-1\r\n"},
		"streamed bulk":          {Limits{}, "$?\r\n"},
		"streamed array":         {Limits{}, "*?\r\n"},
		"huge bulk":              {Limits{}, "$536870913\r\n"},
		"bulk of 18 digits":      {Limits{}, "$999999999999999999\r\n"},
		"bulk of 19 digits":      {Limits{}, "$9223372036854775807\r\n"},
		"bulk that overflows":    {Limits{}, "$18446744073709551617\r\n"},
		"huge array":             {Limits{}, "*2147483647\r\n"},
		"huge map":               {Limits{}, "%999999999999999999\r\n"},
		"endless zeros":          {Limits{}, "$" + strings.Repeat("0", 19)},
		"bulk over the limit":    {Limits{Bulk: 4}, "$5\r\n"},
		"error over the limit":   {Limits{Bulk: 4}, "!5\r\n"},
		"elements":               {Limits{Elements: 3}, "*4\r\n"},
		"elements of a map":      {Limits{Elements: 3}, "%2\r\n"},
		"elements, attribute":    {Limits{Elements: 3}, "|2\r\n"},
		"short line":             {Limits{Line: 3}, "+abcd\r\n"},
		"short int":              {Limits{Line: 3}, ":1234\r\n"},
		"line without an end":    {Limits{Line: 30}, "+" + strings.Repeat("x", 33)},
		"default line":           {Limits{}, "+" + strings.Repeat("x", 64<<10+1) + "\r\n"},
		"reply":                  {Limits{Reply: 10}, "*3\r\n:1\r\n:2\r\n:3\r\n"},
		"reply that is short":    {Limits{Reply: 5}, ":123\r\n"},
		"reply that is a bulk":   {Limits{Reply: 10}, "$6\r\nabcdef\r\n"},
		"attributes for ever":    {Limits{Reply: 100}, strings.Repeat("|0\r\n", 26)},
		"garbage behind a reply": {Limits{}, ":1\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := []byte(c.stream)
			whole, _, err := frames(t, NewFramer(c.limits), stream)
			require.ErrorIs(t, err, ErrProtocol)
			split, _, err := frames(t, NewFramer(c.limits), singly(stream)...)
			require.ErrorIs(t, err, ErrProtocol)
			require.Equal(t, whole, split)
		})
	}
}

func TestFramerAllowsWhatIsAtTheLimit(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		stream string
	}{
		{Limits{Bulk: 5}, "$5\r\nhello\r\n"},
		{Limits{Elements: 4}, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n"},
		{Limits{Elements: 4}, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n"},
		{Limits{Depth: 2}, nested(2)},
		{Limits{}, nested(1024)},
		{Limits{Depth: 4096}, nested(4096)},
		{Limits{Attributes: 3}, "|0\r\n*2\r\n|1\r\n|0\r\n:1\r\n:2\r\n:3\r\n:4\r\n"},
		{Limits{Line: 3}, "+abc\r\n"},
		{Limits{Line: 3}, ":123\r\n"},
		{Limits{}, "-" + strings.Repeat("x", 64<<10) + "\r\n"},
		{Limits{Line: math.MaxInt64}, "-" + strings.Repeat("x", 64<<10+1) + "\r\n"},
		{Limits{Reply: 16}, "*3\r\n:1\r\n:2\r\n:3\r\n"},
		{Limits{Reply: 6}, ":123\r\n"},
		{Limits{}, "$000000000000000003\r\nabc\r\n"},
	} {
		want := []frame{{c.stream, SkipAttributes([]byte(c.stream))[0], NotRefused}}
		whole, _, err := frames(t, NewFramer(c.limits), []byte(c.stream))
		require.NoError(t, err, "%.40q", c.stream)
		require.Equal(t, want, whole)
		split, _, err := frames(t, NewFramer(c.limits), singly([]byte(c.stream))...)
		require.NoError(t, err, "%.40q", c.stream)
		require.Equal(t, want, split)
	}
}

func TestLimitsValidateNamesTheField(t *testing.T) {
	require.NoError(t, Limits{}.Validate())
	require.NoError(t, Limits{}.WithDefaults().Validate())
	for field, l := range map[string]Limits{
		"Bulk": {Bulk: -1}, "Elements": {Elements: -1}, "Line": {Line: -1}, "Reply": {Reply: -1}, "Depth": {Depth: -1},
	} {
		assert.EqualError(t, l.Validate(), "Limits."+field+" = -1: must not be negative")
	}
	for field, l := range map[string]Limits{
		"Bulk = 68719476737: must be at most 68719476736":        {Bulk: 64<<30 + 1},
		"Elements = 1073741825: must be at most 1073741824":      {Elements: 1<<30 + 1},
		"Line = 9223372036854775807: must be at most 1073741824": {Line: math.MaxInt64},
		"Reply = 68719476737: must be at most 68719476736":       {Reply: 64<<30 + 1},
		"Depth = 4097: must be at most 4096":                     {Depth: 4097},
		"Attributes = 2000000000: must be at most 1073741824":    {Attributes: 2e9},
	} {
		assert.EqualError(t, l.Validate(), "Limits."+field)
	}
}

// What is nested too deep, or has too many attributes, is refused by itself: its
// end is found in whatever pieces it arrives, and the next reply is not refused.
func TestFramerRefusesOneReply(t *testing.T) {
	const next = ":5\r\n"
	bulky := "$20\r\n" + strings.Repeat("x", 20) + "\r\n"
	for name, c := range map[string]struct {
		limits Limits
		reply  string
		why    TooMuch
	}{
		"depth":                    {Limits{Depth: 2}, nested(3), TooDeep},
		"default depth":            {Limits{}, nested(1025), TooDeep},
		"many levels":              {Limits{}, nested(100_000), TooDeep},
		"not at the end":           {Limits{Depth: 2}, "*3\r\n*2\r\n*2\r\n:1\r\n*0\r\n" + bulky + "*1\r\n*1\r\n%1\r\n+a\r\n*1\r\n+b\r\n+c\r\n", TooDeep},
		"attributes in attributes": {Limits{Depth: 2}, "|1\r\n|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n+d\r\n+e\r\n+f\r\n*1\r\n:1\r\n", TooDeep},
		"attributes too deep":      {Limits{Depth: 1}, "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n|1\r\n+a\r\n*2\r\n:1\r\n:1\r\n" + bulky, TooDeep},
		"one level in all":         {Limits{Depth: 1}, "%1\r\n*2\r\n*1\r\n:1\r\n:2\r\n~1\r\n" + bulky, TooDeep},
		"attributes in a row":      {Limits{Attributes: 100_000}, strings.Repeat("|0\r\n", 100_001) + "+OK\r\n", TooManyAttributes},
		"attributes in an array":   {Limits{Attributes: 1}, "*2\r\n|0\r\n:1\r\n|1\r\n+a\r\n+b\r\n" + bulky, TooManyAttributes},
		"an attribute of a push":   {Limits{Attributes: 1}, "|0\r\n|0\r\n>1\r\n+a\r\n", TooManyAttributes},
	} {
		t.Run(name, func(t *testing.T) {
			kind := SkipAttributes([]byte(c.reply))[0]
			want := []frame{{next, ':', NotRefused}, {c.reply, kind, c.why}, {next, ':', NotRefused}, {"*0\r\n", '*', NotRefused}}
			stream := []byte(next + c.reply + next + "*0\r\n")
			whole, rest, err := frames(t, NewFramer(c.limits), stream)
			require.NoError(t, err)
			require.Empty(t, rest)
			require.True(t, slices.Equal(want, whole))
			if len(stream) < 10_000 {
				split, _, err := frames(t, NewFramer(c.limits), singly(stream)...)
				require.NoError(t, err)
				require.Equal(t, want, split)
			}
			reply := AppendRefusal(nil, c.why, c.limits.WithDefaults())
			require.True(t, IsRefusal(ErrorText(reply)))
			_, done, err := NewFramer(Limits{}).Next(reply)
			require.True(t, done && err == nil)
			require.True(t, IsError(reply))
		})
	}
}

// Of what is refused, more may be announced than a counter holds.
func TestFramerCountsNoFurtherThanItCan(t *testing.T) {
	limits := Limits{Elements: 1 << 62, Depth: 1}
	_, _, err := frames(t, NewFramer(limits), []byte(strings.Repeat("*4611686018427387904\r\n", 4)))
	require.Error(t, err) // a length of too many digits
	for _, stream := range []string{
		strings.Repeat("*999999999999999999\r\n", 12),
		"|499999999999999999\r\n" + strings.Repeat("|499999999999999999\r\n", 12),
	} {
		_, _, err := frames(t, NewFramer(limits), []byte(stream))
		require.ErrorIs(t, err, ErrProtocol)
		require.ErrorContains(t, err, "more elements than can be counted")
	}
}
