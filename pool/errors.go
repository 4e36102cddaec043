package pool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

var (
	// ErrExhausted says that the pool has no free connection and that no more
	// callers may wait. It wraps lanes.ErrNotSent.
	ErrExhausted = fmt.Errorf("pool exhausted: %w", lanes.ErrNotSent)

	// ErrClosed says that the pool or the client was closed. It wraps
	// lanes.ErrNotSent.
	ErrClosed = fmt.Errorf("pool closed: %w", lanes.ErrNotSent)

	// ErrRetired says that the server is none of the cluster's any more, so that its
	// pool takes nothing new. It wraps lanes.ErrNotSent.
	ErrRetired = fmt.Errorf("server has left the cluster: %w", lanes.ErrNotSent)

	// ErrReturned refuses what is sent over a lent connection after it was
	// returned, also over the connection of a radix.WithConn whose function has
	// returned: somebody else may have it. It wraps lanes.ErrNotSent.
	ErrReturned = fmt.Errorf("lent connection used after its return: %w", lanes.ErrNotSent)

	// ErrUnanswered refuses commands on a lent connection after which replies are
	// not one for each command: SUBSCRIBE and the like, MONITOR, SYNC, REPLCONF,
	// CLIENT REPLY. Use a connection of radix.Dialer. It wraps lanes.ErrNotSent.
	ErrUnanswered = fmt.Errorf("command that is not answered with one reply, use a connection of radix.Dialer: %w", lanes.ErrNotSent)
)

// An ExhaustedError is ErrExhausted with the server and the limit that was
// reached.
type ExhaustedError struct {
	Addr  string
	Limit string // such as "10 connections in use", "4096 callers waiting" or "1024 batches in flight on every lane (MaxInFlight)"
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("pool: %s: %v: %s; raise the limit, or shed load", e.Addr, ErrExhausted, e.Limit)
}

// Unwrap returns ErrExhausted.
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// A WaitError says that the context of a batch, or of a user who wanted to be lent
// a connection, ended while it waited. It is found by errors.As; the error of the
// command wraps lanes.ErrNotSent and the context's error.
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

// Reasons why connections are closed, as Stats.Closes counts them.
const (
	CloseByClient  = "client"   // the pool was closed, or its server has left the cluster
	CloseIdle      = "idle"     // the pool shrank
	CloseStalled   = "stalled"  // the server was silent too long
	CloseByServer  = "server"   // the server hung up
	CloseTimeout   = "timeout"  // the socket accepted no bytes
	CloseProtocol  = "protocol" // the server sent what is not RESP
	CloseUnclean   = "unclean"  // its user left a transaction open, or the like
	CloseRenewed   = "renewed"  // the server has changed its role
	CloseIOFailure = "io"       // reset, unreachable and the like
)

var (
	errIdle    = errors.New("connection idle")
	errUnclean = errors.New("connection left in an unknown state by its user")

	errNilAction  = errors.New("the action is nil")
	errNilContext = errors.New("the context is nil: pass one, such as context.Background()")
)

func closeReason(err error) string {
	for _, r := range []struct {
		err    error
		reason string
	}{
		{errIdle, CloseIdle}, {errUnclean, CloseUnclean}, {errRenewed, CloseRenewed}, {lanes.ErrStalled, CloseStalled},
		{ErrClosed, CloseByClient}, {ErrRetired, CloseByClient}, {lanes.ErrClosed, CloseByClient}, {io.EOF, CloseByServer},
		{resp.ErrProtocol, CloseProtocol}, {os.ErrDeadlineExceeded, CloseTimeout},
	} {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return CloseIOFailure
}
