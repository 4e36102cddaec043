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

// TestMayHaveRun: only a reply that refuses, or what was not sent, proves that a command did not run.
func TestMayHaveRun(t *testing.T) {
	reply := func(text string) error { return &redislanes.Error{Cause: resp3.SimpleError{S: text}} }
	for _, c := range []struct {
		err error
		ran bool
	}{
		{nil, true},
		{reply("ERR increment or decrement would overflow"), false},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), false},
		{reply("ERR value is not an integer or out of range"), false},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{reply("ERR wrong number of arguments for 'expire' command"), false},
		{reply("ERR Unsupported option NX"), false},
		{reply("ERR syntax error"), false},
		{reply("upstream failure"), true},
		{reply("IOERR error or timeout reading to target instance"), true},
		{reply("NOPERM this user has no permissions to run the 'expire' command"), false},
		{&redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: errors.New("increment or decrement would overflow")}, true},
		{&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: errors.New("the pool is closed")}, false},
		{&redislanes.Error{Cause: errors.New("the reply is no integer")}, true},
	} {
		require.Equal(t, c.ran, MayHaveRun(c.err), "%v", c.err)
	}
}
