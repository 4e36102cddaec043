package resp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

func nested(depth int) string { return strings.Repeat("*1\r\n", depth) + ":1\r\n" }

// Each stream is refused, and in whatever pieces it arrives.
func TestFramerRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		limits lanes.Limits
		stream string
	}{
		"no type":                {lanes.Limits{}, "x\r\n"},
		"a NUL":                  {lanes.Limits{}, "\x00"},
		"HTTP":                   {lanes.Limits{}, "HTTP/1.1 400 Bad Request\r\n\r\n"},
		"LF alone":               {lanes.Limits{}, "+OK\n"},
		"LF alone, empty":        {lanes.Limits{}, "+\n"},
		"no CRLF behind a bulk":  {lanes.Limits{}, "$2\r\nabcd"},
		"no LF behind a bulk":    {lanes.Limits{}, "$2\r\nab\rx"},
		"$-5":                    {lanes.Limits{}, "$-5\r\n"},
		"*-5":                    {lanes.Limits{}, "*-5\r\n"},
		"$-0":                    {lanes.Limits{}, "$-0\r\n"},
		"$--1":                   {lanes.Limits{}, "$--1\r\n"},
		"$1-":                    {lanes.Limits{}, "$1-\r\n"},
		"$+1":                    {lanes.Limits{}, "$+1\r\na\r\n"},
		"no length":              {lanes.Limits{}, "$\r\n"},
		"minus only":             {lanes.Limits{}, "$-\r\n"},
		"CR twice":               {lanes.Limits{}, "$1\r\r\n"},
		"digit behind CR":        {lanes.Limits{}, "$1\r1"},
		"LF in a header":         {lanes.Limits{}, "$1\n"},
		"null map":               {lanes.Limits{}, "%-1\r\n"},
		"null set":               {lanes.Limits{}, "~-1\r\n"},
		"null push":              {lanes.Limits{}, ">-1\r\n"},
		"null verbatim":          {lanes.Limits{}, "=-1\r\n"},
		"null attribute":         {lanes.Limits{}, "|-1\r\n"},
		"streamed bulk":          {lanes.Limits{}, "$?\r\n"},
		"streamed array":         {lanes.Limits{}, "*?\r\n"},
		"huge bulk":              {lanes.Limits{}, "$536870913\r\n"},
		"bulk of 18 digits":      {lanes.Limits{}, "$999999999999999999\r\n"},
		"bulk of 19 digits":      {lanes.Limits{}, "$9223372036854775807\r\n"},
		"bulk that overflows":    {lanes.Limits{}, "$18446744073709551617\r\n"},
		"huge array":             {lanes.Limits{}, "*2147483647\r\n"},
		"huge map":               {lanes.Limits{}, "%999999999999999999\r\n"},
		"endless zeros":          {lanes.Limits{}, "$" + strings.Repeat("0", 19)},
		"bulk over the limit":    {lanes.Limits{Bulk: 4}, "$5\r\n"},
		"error over the limit":   {lanes.Limits{Bulk: 4}, "!5\r\n"},
		"elements":               {lanes.Limits{Elements: 3}, "*4\r\n"},
		"elements of a map":      {lanes.Limits{Elements: 3}, "%2\r\n"},
		"elements, attribute":    {lanes.Limits{Elements: 3}, "|2\r\n"},
		"short line":             {lanes.Limits{Line: 3}, "+abcd\r\n"},
		"short int":              {lanes.Limits{Line: 3}, ":1234\r\n"},
		"line without an end":    {lanes.Limits{Line: 30}, "+" + strings.Repeat("x", 33)},
		"default line":           {lanes.Limits{}, "+" + strings.Repeat("x", 64<<10+1) + "\r\n"},
		"reply":                  {lanes.Limits{Reply: 10}, "*3\r\n:1\r\n:2\r\n:3\r\n"},
		"reply that is short":    {lanes.Limits{Reply: 5}, ":123\r\n"},
		"reply that is a bulk":   {lanes.Limits{Reply: 10}, "$6\r\nabcdef\r\n"},
		"attributes for ever":    {lanes.Limits{Reply: 100}, strings.Repeat("|0\r\n", 26)},
		"garbage behind a reply": {lanes.Limits{}, ":1\r\n\r\n"},
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
		limits lanes.Limits
		stream string
	}{
		{lanes.Limits{Bulk: 5}, "$5\r\nhello\r\n"},
		{lanes.Limits{Elements: 4}, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n"},
		{lanes.Limits{Elements: 4}, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n"},
		{lanes.Limits{Depth: 2}, nested(2)},
		{lanes.Limits{}, nested(1024)},
		{lanes.Limits{Depth: 4096}, nested(4096)},
		{lanes.Limits{Attributes: 3}, "|0\r\n*2\r\n|1\r\n|0\r\n:1\r\n:2\r\n:3\r\n:4\r\n"},
		{lanes.Limits{Line: 3}, "+abc\r\n"},
		{lanes.Limits{Line: 3}, ":123\r\n"},
		{lanes.Limits{}, "-" + strings.Repeat("x", 64<<10) + "\r\n"},
		{lanes.Limits{Line: math.MaxInt64}, "-" + strings.Repeat("x", 64<<10+1) + "\r\n"},
		{lanes.Limits{Reply: 16}, "*3\r\n:1\r\n:2\r\n:3\r\n"},
		{lanes.Limits{Reply: 6}, ":123\r\n"},
		{lanes.Limits{}, "$000000000000000003\r\nabc\r\n"},
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

func TestDefaultsAreWithinTheBounds(t *testing.T) {
	require.NoError(t, lanes.Dialer{Limits: WithDefaults(lanes.Limits{})}.Validate())
}

// What is nested too deep, or has too many attributes, is refused by itself: its
// end is found in whatever pieces it arrives, and the next reply is not refused.
func TestFramerRefusesOneReply(t *testing.T) {
	const next = ":5\r\n"
	bulky := "$20\r\n" + strings.Repeat("x", 20) + "\r\n"
	for name, c := range map[string]struct {
		limits lanes.Limits
		reply  string
		why    TooMuch
	}{
		"depth":                    {lanes.Limits{Depth: 2}, nested(3), TooDeep},
		"default depth":            {lanes.Limits{}, nested(1025), TooDeep},
		"many levels":              {lanes.Limits{}, nested(100_000), TooDeep},
		"not at the end":           {lanes.Limits{Depth: 2}, "*3\r\n*2\r\n*2\r\n:1\r\n*0\r\n" + bulky + "*1\r\n*1\r\n%1\r\n+a\r\n*1\r\n+b\r\n+c\r\n", TooDeep},
		"attributes in attributes": {lanes.Limits{Depth: 2}, "|1\r\n|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n+d\r\n+e\r\n+f\r\n*1\r\n:1\r\n", TooDeep},
		"attributes too deep":      {lanes.Limits{Depth: 1}, "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n|1\r\n+a\r\n*2\r\n:1\r\n:1\r\n" + bulky, TooDeep},
		"one level in all":         {lanes.Limits{Depth: 1}, "%1\r\n*2\r\n*1\r\n:1\r\n:2\r\n~1\r\n" + bulky, TooDeep},
		"attributes in a row":      {lanes.Limits{Attributes: 100_000}, strings.Repeat("|0\r\n", 100_001) + "+OK\r\n", TooManyAttributes},
		"attributes in an array":   {lanes.Limits{Attributes: 1}, "*2\r\n|0\r\n:1\r\n|1\r\n+a\r\n+b\r\n" + bulky, TooManyAttributes},
		"an attribute of a push":   {lanes.Limits{Attributes: 1}, "|0\r\n|0\r\n>1\r\n+a\r\n", TooManyAttributes},
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
			reply := AppendRefusal(nil, c.why, WithDefaults(c.limits))
			require.True(t, IsRefusal(ErrorText(reply)))
			_, done, err := NewFramer(lanes.Limits{}).Next(reply)
			require.True(t, done && err == nil)
			require.True(t, IsError(reply))
		})
	}
}

// Of what is refused, more may be announced than a counter holds.
func TestFramerCountsNoFurtherThanItCan(t *testing.T) {
	limits := lanes.Limits{Elements: 1 << 62, Depth: 1}
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
