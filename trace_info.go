package redislanes

import (
	"fmt"
	"time"
)

// PoolInfo identifies a pool. All calls of a [Trace] about one pool get the same pointer.
type PoolInfo struct {
	Addr string // of the node, host:port
	Role string // what the connections are for: "primary" or "replica"
	Kind string // "fixed", "adaptive" or "laned"
}

// RequestStart is what is known of a request before it is sent.
type RequestStart struct {
	Commands  int  // 0 if Dedicated is set and the action may send any number of them
	Dedicated bool // it has a connection to itself: a blocking command, a transaction

	// Command.String returns the name of the commands, such as "INCRBY", in upper case; "" if
	// they have several names, or if the name is not known. It may be called until the
	// request has ended.
	Command fmt.Stringer
}

// RequestInfo is what became of a request.
type RequestInfo struct {
	Took     time.Duration // from the call to its end: waits, redirects and retries included
	Commands int
	Failed   int // commands without a reply, or with an error reply; not NOSCRIPT if EVAL follows
	Trips    int // groups of commands that were sent, with redirects and retries

	// Outcome is the worst outcome of the commands: "ok" if every command has a reply that is no
	// error; "error" if the server replied with one, or the function of a dedicated action
	// returned one; "not_sent" for ErrNotSent; "unknown" for ErrUnknownOutcome.
	Outcome string

	Retries   int    // commands that were sent again, without redirects
	Redirects int    // commands that followed MOVED or ASK
	Addr      string // of the node, if all groups went to one; else ""

	// Code and Err are about the first command with the worst outcome. Code is the code of its
	// error reply, a key of PoolStats.ErrorReplies. Err is why it has no reply.
	Code string
	Err  error
}

// GroupStart is what is known of a group before it is sent.
type GroupStart struct {
	Pool *PoolInfo // whose connection it takes

	Commands int // commands, including the ASKING before each command that follows an ASK
	Attempt  int // 1 when the request is first sent, 2 for its first retry, and so on
	Groups   int // groups of the request that are sent at the same time

	Retried    int // commands that are sent again, without redirects
	Redirected int // commands that follow MOVED or ASK

	Command fmt.Stringer // as in RequestStart
}

// GroupInfo is what became of a group.
type GroupInfo struct {
	Took    time.Duration // until the last reply arrived, with the wait for a connection
	Outcome string        // as in RequestInfo
	Code    string        // as in RequestInfo
	Err     error         // as in RequestInfo
}
