package cause

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// TestSaidError: a program finds the whole text, and what prints the error, or what it
// unwraps to, does not.
func TestSaidError(t *testing.T) {
	t.Parallel()
	const text = `MYCODE "canary"`
	var err error = &redislanes.Error{Command: "EVAL", Cause: Said(text)}
	var said resp3.SimpleError
	require.ErrorAs(t, err, &said)
	require.Equal(t, text, said.S)
	require.ErrorIs(t, err, resp3.SimpleError{S: text})
	require.NotErrorIs(t, err, resp3.SimpleError{S: "MYCODE"})
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			require.NotContains(t, fmt.Sprintf(verb, inner), "canary", verb)
		}
	}
	require.Equal(t, `redislanes: EVAL: MYCODE …`, err.Error())

	require.ErrorAs(t, Said([]byte(strings.Repeat("x", 1<<20))), &said)
	require.Len(t, said.S, maxSaid, "the server says how long it is")
	require.False(t, errors.As(Said(text), new(*redislanes.Error)))
}
