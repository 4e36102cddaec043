package redislanes_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// A text says each thing once: the prefix, the command, the server and the outcome.
func TestErrorTexts(t *testing.T) {
	closed := fmt.Errorf("the pool is %w", redislanes.ErrClosed)
	unknown := &redislanes.Error{Addr: "10.0.0.1:6379", Outcome: redislanes.ErrUnknownOutcome, Cause: closed}
	crossSlot := &redislanes.CrossSlotError{Command: "MGET", Slots: [2]uint16{1, 2}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{unknown, "redislanes: 10.0.0.1:6379: outcome unknown: the pool is closed"},
		{&redislanes.Error{Command: "INCRBY", Addr: "10.0.0.1:6379", Cause: unknown}, "redislanes: INCRBY on 10.0.0.1:6379: outcome unknown: the pool is closed"},
		{&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: closed}, "redislanes: not sent: the pool is closed"},
		{&redislanes.Error{Addr: "10.0.0.1:6379", Outcome: redislanes.ErrUnknownOutcome, Cause: io.EOF}, "redislanes: 10.0.0.1:6379: outcome unknown: EOF"},
		{crossSlot, "redislanes: MGET: keys in different slots, 1 and 2"},
		{&redislanes.Error{Command: "MGET", Cause: crossSlot}, "redislanes: MGET: keys in different slots, 1 and 2"},
	} {
		require.EqualError(t, c.err, c.want)
	}
	require.ErrorIs(t, unknown, redislanes.ErrUnknownOutcome)
	require.NotErrorIs(t, unknown, redislanes.ErrNotSent, "what the cause says of outcomes does not count")
}
