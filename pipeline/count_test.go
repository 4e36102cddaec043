package pipeline

import (
	"errors"
	"testing"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

func TestSaid(t *testing.T) {
	reply := func(text string) error { return &redislanes.Error{Cause: resp3.SimpleError{S: text}} }
	for _, c := range []struct {
		err            error
		overflows, ran bool
	}{
		{nil, false, true},
		{reply("ERR increment or decrement would overflow"), true, false},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), false, false},
		{reply("ERR value is not an integer or out of range"), false, false},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), false, false},
		{reply("ERR wrong number of arguments for 'expire' command"), false, false},
		{reply("ERR Unsupported option NX"), false, false},
		{reply("ERR syntax error"), false, false},
		{reply("upstream failure"), false, true},
		{reply("IOERR error or timeout reading to target instance"), false, true},
		{reply("NOPERM this user has no permissions to run the 'expire' command"), false, false},
		{&redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: errors.New("increment or decrement would overflow")}, false, true},
		{&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: errors.New("the pool is closed")}, false, false},
		{reply("TOOMANY the command ran, its reply has more than 16 attributes, which is Limits.Attributes"), false, true},
		{&redislanes.Error{Cause: errors.New("the reply is no integer")}, false, true},
	} {
		require.Equal(t, c.overflows, overflows(c.err), "%v", c.err)
		require.Equal(t, c.ran, mayHaveRun(c.err), "%v", c.err)
	}
}
