package resp

import (
	"math"
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
		"depth":                  {Limits{Depth: 2}, nested(3)},
		"default depth":          {Limits{}, nested(17)},
		"largest depth":          {Limits{Depth: 32}, nested(33)},
		"depth of attributes":    {Limits{Depth: 2}, "|1\r\n|1\r\n|1\r\n"},
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
		{Limits{}, nested(16)},
		{Limits{Depth: 32}, nested(32)},
		{Limits{Line: 3}, "+abc\r\n"},
		{Limits{Line: 3}, ":123\r\n"},
		{Limits{}, "-" + strings.Repeat("x", 64<<10) + "\r\n"},
		{Limits{Line: math.MaxInt64}, "-" + strings.Repeat("x", 64<<10+1) + "\r\n"},
		{Limits{Reply: 16}, "*3\r\n:1\r\n:2\r\n:3\r\n"},
		{Limits{Reply: 6}, ":123\r\n"},
		{Limits{}, "$000000000000000003\r\nabc\r\n"},
	} {
		want := []frame{{c.stream, c.stream[0]}}
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
		assert.EqualError(t, l.Validate(), "resp: Limits."+field+" = -1: must not be negative")
	}
	assert.EqualError(t, Limits{Depth: 33}.Validate(), "resp: Limits.Depth = 33: must be at most 32")
}
