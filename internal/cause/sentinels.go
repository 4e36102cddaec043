package cause

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes"
)

// What a command is refused for before it is sent.
var (
	// ErrNotPipelinable refuses a command that cannot travel with others: one that may block
	// its connection or changes its state.
	ErrNotPipelinable error = &refusal{"command cannot be pipelined, use Client.Do or radix.WithConn", redislanes.ErrShared}

	// ErrNoWrites refuses WAIT and WAITAOF outside of radix.WithConn. They wait for the
	// writes that were sent over their own connection, so on any other connection they
	// answer at once for writes that they do not know.
	ErrNoWrites error = &refusal{"command waits for the writes of its own connection, use radix.WithConn for it and the writes", redislanes.ErrShared}

	// ErrUnanswered refuses commands after which replies are not one for each command: SUBSCRIBE,
	// MONITOR, CLIENT REPLY, REPLCONF, SYNC and PSYNC.
	ErrUnanswered error = &refusal{"command that is not answered with one reply, use a connection of Client.Dial", redislanes.ErrShared}

	// ErrReturned refuses what is sent over a dedicated connection after it was returned: somebody
	// else may have it.
	ErrReturned = fmt.Errorf("dedicated connection used after its return: %w", redislanes.ErrNotSent)

	// ErrRetired says that the server is none of the cluster's any more, so that its pool
	// takes nothing new.
	ErrRetired = fmt.Errorf("server has left the cluster: %w", redislanes.ErrNotSent)
)

// ErrOvertaken marks commands that were refused, and were not sent again because a later
// command of the same slot in the same request has run by then, or may have: they would have
// undone what it did. Their outcome is ErrRefused, or ErrUnknownOutcome for a command that
// may run twice.
var ErrOvertaken = errors.New("not sent again, since a later command of its slot has run")

// Why a server is down.
var (
	// ErrStalled is the cause when a connection was closed because the server sent nothing
	// for longer than the stall timeout.
	ErrStalled = errors.New("server stalled: no byte arrived for longer than the stall timeout")

	// ErrSuspect is the cause of a Down whose server has sent nothing for an unusual time
	// though batches are in flight, and has not answered over another connection either. The
	// connections stay open for pool.Options.StallTimeout: any byte, or an answer, ends the
	// suspicion.
	ErrSuspect = errors.New("suspect: no byte arrives, and it does not answer over another connection")
)

// What a program does wrong with a call.
var (
	ErrNilContext = fmt.Errorf("the context is nil, pass one such as context.Background(): %w", redislanes.ErrNotSent)
	ErrNilAction  = fmt.Errorf("the action is nil: %w", redislanes.ErrNotSent)
)

// What a program does wrong with a pipeline.
var (
	// ErrPending is the error of a reply before Do has returned.
	ErrPending = errors.New("redislanes: no reply yet: call Do before the Reply is read")

	// ErrStale is the error of a reply whose pipeline was reset.
	ErrStale = errors.New("redislanes: the pipeline was reset since this Reply was given: read it before Reset")

	// ErrExecuted says that a pipeline was done before, and not Reset since. A second Do
	// would count twice: it sends nothing, and the replies of the first one stay. A command
	// that is appended in between is refused with it, as not sent.
	ErrExecuted = errors.New("the pipeline was done already: call Reset before it is used again")
)

// Exhausted returns [redislanes.ErrExhausted] with the limit that was reached, such as "10 connections in use",
// "4096 callers waiting" or "1024 batches in flight on every lane (MaxInFlight)".
func Exhausted(limit string) error {
	return &refusal{"pool exhausted: " + limit + "; raise the limit, or shed load", redislanes.ErrExhausted}
}

// A refusal is an error with a text of its own that wraps another one.
type refusal struct {
	text string
	is   error
}

func (r *refusal) Error() string { return r.text }

// Unwrap returns what the refusal is.
func (r *refusal) Unwrap() error { return r.is }
