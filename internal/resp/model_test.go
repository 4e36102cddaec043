package resp

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// A value is a reply as a model parses it, in the plain way: by recursion.
type value struct {
	attributes []value // each a map of its own
	head       string  // the line, and the bytes of a bulk string
	inside     []value
}

// parse takes one value off p, which was framed before.
func parse(p []byte) (v value, rest []byte) {
	for p[0] == '|' {
		var a value
		a, p = parseElement(p)
		v.attributes = append(v.attributes, a)
	}
	found, rest := parseElement(p)
	v.head, v.inside = found.head, found.inside
	return v, rest
}

func parseElement(p []byte) (v value, rest []byte) {
	end := bytes.IndexByte(p, '\n') + 1
	v.head, rest = string(p[:end]), p[end:]
	n, _ := strconv.Atoi(strings.TrimSpace(v.head[1:]))
	switch p[0] {
	case '$', '!', '=':
		if n >= 0 {
			v.head, rest = string(p[:end+n+2]), rest[n+2:]
		}
		return v, rest
	case '%', '|':
		n *= 2
	case '*', '~', '>':
	default:
		return v, rest
	}
	for range n {
		var e value
		e, rest = parse(rest)
		v.inside = append(v.inside, e)
	}
	return v, rest
}

// plain is the value without attributes, on the wire.
func (v value) plain() string {
	text := v.head
	for _, e := range v.inside {
		text += e.plain()
	}
	return text
}

// depth is how deep aggregates and attributes that are not empty are nested.
func (v value) depth() (deepest int) {
	for _, e := range v.inside {
		deepest = max(deepest, 1+e.depth())
	}
	for _, a := range v.attributes {
		deepest = max(deepest, a.depth())
	}
	if len(v.inside) > 0 {
		deepest = max(deepest, 1)
	}
	return deepest
}

func (v value) count() (attributes int) {
	for _, e := range v.inside {
		attributes += e.count()
	}
	for _, a := range v.attributes {
		attributes += 1 + a.count()
	}
	return attributes
}

// requireFramed checks what the framer says of a reply against the model.
func requireFramed(t *testing.T, f frame, l lanes.Limits) {
	t.Helper()
	v, rest := parse([]byte(f.text))
	require.Empty(t, rest)
	require.Equal(t, v.head[0], f.kind)
	deep, many := v.depth() > l.Depth, int64(v.count()) > l.Attributes
	switch f.why {
	case NotRefused:
		require.False(t, deep || many)
	case TooDeep:
		require.True(t, deep)
	case TooManyAttributes:
		require.True(t, many)
	}
}

func TestAttributesAreTakenOut(t *testing.T) {
	for reply, want := range map[string]string{
		"":                   "",
		"+a|b\r\n":           "+a|b\r\n",
		"$1\r\n|\r\n":        "$1\r\n|\r\n",
		attribute + ":1\r\n": ":1\r\n",
		":1\r\n" + attribute + "$1\r\n|\r\n:2\r\n":                                               ":1\r\n$1\r\n|\r\n:2\r\n",
		"*2\r\n" + attribute + "*1\r\n|0\r\n:1\r\n|0\r\n" + attribute + "$-1\r\n":                "*2\r\n*1\r\n:1\r\n$-1\r\n",
		"|1\r\n" + attribute + "*2\r\n:1\r\n|0\r\n:2\r\n%0\r\n_\r\n" + attribute + "!1\r\ne\r\n": "_\r\n!1\r\ne\r\n",
	} {
		require.Equal(t, want, string(WithoutAttributes([]byte(reply))), "%q", reply)
	}
	many := strings.Repeat("|0\r\n", 100_000)
	require.Equal(t, "+OK\r\n", string(WithoutAttributes([]byte(many+"+OK\r\n"))))
	require.Equal(t, nested(10), string(WithoutAttributes([]byte(nested(9)[:36]+many+nested(1)))))
	plain := []byte("*1\r\n+a|b\r\n")
	require.Zero(t, testing.AllocsPerRun(10, func() { WithoutAttributes(plain) }))
}
