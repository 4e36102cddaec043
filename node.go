package redislanes

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrExhausted says that the pool has no free connection and that no more
	// callers may wait. It wraps ErrNotSent.
	ErrExhausted = fmt.Errorf("pool exhausted: %w", ErrNotSent)

	// ErrClosed says that the client, pool, Counters or Limiter was closed; the text
	// of the error says which. It wraps ErrNotSent.
	ErrClosed = fmt.Errorf("closed: %w", ErrNotSent)

	// ErrRetired says that the server is none of the cluster's any more, so that its
	// pool takes nothing new. It wraps ErrNotSent.
	ErrRetired = fmt.Errorf("server has left the cluster: %w", ErrNotSent)

	// ErrShared refuses commands that change the state of their connection
	// (MULTI, WATCH, SELECT, SUBSCRIBE, ...) on a connection that others share. Use
	// radix.WithConn, which lends one. It wraps [ErrNotSent].
	ErrShared = fmt.Errorf("command changes the state of its connection, use radix.WithConn to be lent one: %w", ErrNotSent)

	// ErrNoWrites refuses WAIT and WAITAOF outside of radix.WithConn. They wait for the
	// writes that were sent over their own connection, so on any other connection they
	// answer at once for writes that they do not know. Use radix.WithConn, and send the
	// writes and then WAIT over the connection that it lends. It wraps [ErrNotSent].
	ErrNoWrites = fmt.Errorf("command waits for the writes of its own connection, use radix.WithConn for it and the writes: %w", ErrNotSent)

	// ErrReturned refuses what is sent over a lent connection after it was
	// returned, also over the connection of a radix.WithConn whose function has
	// returned: somebody else may have it. It wraps ErrNotSent.
	ErrReturned = fmt.Errorf("lent connection used after its return: %w", ErrNotSent)

	// ErrUnanswered refuses commands on a lent connection after which replies are
	// not one for each command: REPLCONF and CLIENT REPLY, and SUBSCRIBE, MONITOR
	// and the like unless the connection is as it was lent: in no transaction,
	// with no key watched. Use a connection of radix.Dialer. It wraps ErrNotSent.
	ErrUnanswered = fmt.Errorf("command that is not answered with one reply, use a connection of radix.Dialer: %w", ErrNotSent)
)

// An ExhaustedError is ErrExhausted with the server and the limit that was
// reached.
type ExhaustedError struct {
	Addr  string
	Limit string // such as "10 connections in use", "4096 callers waiting" or "1024 batches in flight on every lane (MaxInFlight)"
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf(prefix+"%s: pool exhausted: %s; raise the limit, or shed load", e.Addr, e.Limit)
}

// Unwrap returns ErrExhausted.
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// A WaitError says that the context of a batch, or of a user that wanted to be lent
// a connection, ended while it waited. It is found by errors.As; the error of the
// command wraps ErrNotSent and the context's error.
type WaitError struct {
	Waited  time.Duration
	Used    int    // connections in use at that moment; of shared ones, batches in flight
	Of      int    // how many may be
	What    string // "in use" or "in flight", perhaps "for slow commands"
	Dialing int    // connections that were being made
	Waiting int    // callers that waited, that one included
	Cause   error  // the context's error
}

func (e *WaitError) Error() string {
	dialing := ""
	if e.Dialing > 0 {
		dialing = fmt.Sprintf(", %d being dialled", e.Dialing)
	}
	unit := time.Millisecond
	if e.Waited < 10*unit {
		unit = time.Microsecond
	}
	return fmt.Sprintf("waited %v, %d of %d %s%s, %d waiting: %v", e.Waited.Round(unit), e.Used, e.Of, e.What, dialing, e.Waiting, e.Cause)
}

// Unwrap returns the cause.
func (e *WaitError) Unwrap() error { return e.Cause }

var (
	// ErrDown says that the server is down: the pool has no connection and its
	// last dial failed, or the last connection stalled, or the server is suspect.
	// Commands fail with it at once, until the server shows life again. It wraps
	// ErrNotSent.
	ErrDown = fmt.Errorf("server down: %w", ErrNotSent)

	// ErrStalled is the cause when a connection was closed because the server sent
	// nothing for longer than the stall timeout.
	ErrStalled = errors.New("server stalled: no byte arrived for longer than the stall timeout")

	// ErrSuspect is the cause of a DownError whose server has sent nothing for an
	// unusual time though batches are in flight, and has not answered over another
	// connection either. The connections stay open for pool.Options.StallTimeout: any
	// byte, or an answer, ends the suspicion.
	ErrSuspect = errors.New("suspect: no byte arrives, and it does not answer over another connection")
)

// A DownError is ErrDown with the server and the cause.
type DownError struct {
	Addr   string
	Since  time.Time     // when its silence began, or the first dial failed
	Cause  error         // such as ErrSuspect, ErrStalled or a dial's error
	Lasted time.Duration // from Since to when the error was made
}

func (e *DownError) Error() string {
	return fmt.Sprintf(prefix+"%s: server down for %v: %s", e.Addr, e.Lasted.Round(time.Millisecond), text(e.Cause, e.Addr))
}

// Unwrap returns ErrDown and the cause.
func (e *DownError) Unwrap() []error { return []error{ErrDown, e.Cause} }
