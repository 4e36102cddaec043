package wire

import (
	"errors"
	"fmt"
	"io"
	"testing"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
)

// TestNamed: the error of a command has the outcome of what it is made of, and says nothing
// twice.
func TestNamed(t *testing.T) {
	t.Parallel()
	lost := Unknown("a:1", io.EOF)
	for want, c := range map[string]struct {
		err     error
		outcome error
	}{
		"redislanes: SET on a:1: outcome unknown: EOF":                 {lost, redislanes.ErrUnknownOutcome},
		"redislanes: SET on a:1: outcome unknown: b:2: EOF":            {Unknown("b:2", io.EOF), redislanes.ErrUnknownOutcome},
		"redislanes: SET on a:1: not sent: the pool is closed":         {fmt.Errorf("the pool is %w", redislanes.ErrClosed), redislanes.ErrNotSent},
		"redislanes: SET on a:1: not sent: " + errNoConnection.Error(): {NotSent("a:1", errNoConnection), redislanes.ErrNotSent},
		"redislanes: SET on a:1: WRONGTYPE no":                         {Said("WRONGTYPE no"), nil},
		"redislanes: SET on a:1: OOM no: refused by the server":        {fmt.Errorf("OOM no: %w", redislanes.ErrRefused), redislanes.ErrRefused},
		"redislanes: SET on a:1: not sent: EOF (after no try)":         {&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: &cause.Tried{Err: io.EOF}}, redislanes.ErrNotSent},
		"redislanes: SET on a:1: not sent: closed (after no try)":      {&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: &cause.Tried{Err: redislanes.ErrClosed}}, redislanes.ErrNotSent},
	} {
		named := Named("SET", "a:1", c.err)
		require.EqualError(t, named, want)
		require.Equal(t, c.outcome, named.Outcome, want)
		usable := Named("SET", "a:1", radixresp.ErrConnUsable{Err: c.err})
		require.EqualError(t, usable, want)
		require.Equal(t, c.outcome, usable.Outcome, want)
		require.ErrorAs(t, usable, new(radixresp.ErrConnUsable))
		require.False(t, errors.As(named, new(radixresp.ErrConnUsable)))
	}
	require.Empty(t, lost.Command, "the commands of a batch share it")
}

var errNoConnection = errors.New("no connection")
