package redislanes_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// A text says each thing once: the prefix, the command, the server and the outcome.
func TestErrorTexts(t *testing.T) {
	const addr = "10.0.0.1:6379"
	closed := fmt.Errorf("the pool is %w", redislanes.ErrClosed)
	for want, err := range map[string]*redislanes.Error{
		"redislanes: 10.0.0.1:6379: outcome unknown: the pool is closed":           {Addr: addr, Outcome: redislanes.ErrUnknownOutcome, Cause: closed},
		"redislanes: INCRBY on 10.0.0.1:6379: outcome unknown: the pool is closed": {Command: "INCRBY", Addr: addr, Outcome: redislanes.ErrUnknownOutcome, Cause: closed},
		"redislanes: INCRBY on 10.0.0.1:6379: not sent: reset":                     {Command: "INCRBY", Addr: addr, Outcome: redislanes.ErrNotSent, Cause: errors.New("redislanes: 10.0.0.1:6379: INCRBY: reset")},
		"redislanes: not sent: the pool is closed":                                 {Outcome: redislanes.ErrNotSent, Cause: closed},
		"redislanes: 10.0.0.1:6379: outcome unknown: EOF":                          {Addr: addr, Outcome: redislanes.ErrUnknownOutcome, Cause: io.EOF},
		"redislanes: SET on 10.0.0.1:6379: OOM no memory":                          {Command: "SET", Addr: addr, Outcome: redislanes.ErrRefused, Cause: errors.New("OOM no memory")},
		"redislanes: … on 10.0.0.1:6379: ERR unknown command '…'":                  {Command: "SET K V", Addr: addr, Cause: errors.New("ERR unknown command '…'")},
		"redislanes: SET: not sent":                                                {Command: "SET", Outcome: redislanes.ErrNotSent},
		"redislanes: ":                                                             {},
	} {
		require.EqualError(t, err, want)
	}
}

// What the cause says of outcomes does not count: by a cause that wraps ErrNotSent, an INCRBY
// with an unknown outcome would be sent again.
func TestErrorHasOneOutcome(t *testing.T) {
	outcomes := []error{redislanes.ErrNotSent, redislanes.ErrUnknownOutcome, redislanes.ErrRefused}
	said := resp3.SimpleError{S: "ERR no"}
	for i, outcome := range append(outcomes, nil) {
		err := &redislanes.Error{Outcome: outcome, Cause: errors.Join(redislanes.ErrClosed, redislanes.ErrUnknownOutcome, redislanes.ErrRefused, said)}
		for j, other := range outcomes {
			require.Equal(t, i == j, errors.Is(fmt.Errorf("around it: %w", err), other), "%v: %v", outcome, other)
		}
		require.ErrorIs(t, err, redislanes.ErrClosed)
		var found resp3.SimpleError
		require.ErrorAs(t, err, &found)
		require.Equal(t, said, found)
	}
	require.NotErrorIs(t, &redislanes.Error{}, redislanes.ErrNotSent)
}
