package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

func TestOutcomeErrorHasOneOutcome(t *testing.T) {
	op := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("reset")}
	for _, cause := range []error{ErrClosed, redislanes.ErrShared, context.Canceled, op, fmt.Errorf("x: %w", redislanes.ErrUnknownOutcome), NotSent("b:2", op)} {
		unknown := &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: cause}
		wantOutcome(t, unknown, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, unknown, cause)
		wantOutcome(t, NotSent("a:1", unknown), redislanes.ErrNotSent)
		wantOutcome(t, fmt.Errorf("around it: %w", unknown), redislanes.ErrUnknownOutcome)
		wantOutcome(t, NotSent("a:1", cause), redislanes.ErrNotSent)
	}
	err := &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: op}
	var found *net.OpError
	require.ErrorAs(t, err, &found)
	assert.Same(t, op, found)
	assert.EqualError(t, err, "redislanes: a:1: outcome unknown: read tcp: reset")
	assert.EqualError(t, NotSent("", op), "redislanes: not sent: read tcp: reset", "no server was chosen yet")
}

func TestNotSentKeepsWhatSaysSoAlready(t *testing.T) {
	first := NotSent("a:1", context.Canceled)
	assert.Same(t, first, NotSent("b:2", first))
	assert.ErrorIs(t, ErrClosed, redislanes.ErrNotSent)
	assert.ErrorIs(t, redislanes.ErrShared, redislanes.ErrNotSent)
}
