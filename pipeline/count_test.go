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
		require.Equal(t, c.ran, mayHaveRun(c.err), "%v", c.err)
	}
}
