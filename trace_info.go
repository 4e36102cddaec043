package redislanes

import "time"

// PoolInfo identifies a pool. All calls of a [Trace] about one pool get the same pointer.
type PoolInfo struct {
	Addr string // of the node, host:port
	Role string // what the connections are for: "primary" or "replica"
	Kind string // "fixed", "adaptive" or "laned"
}

// A CommandNamer returns the name of commands. It works it out when it is called, since most
// traces do not use it.
type CommandNamer interface {
	// CommandName returns the name of the commands, such as "INCRBY", in upper case; "" if
	// they have several names, or if the name is not known.
	CommandName() string
}

// RequestStart is what is known of a request before it is sent.
type RequestStart struct {
	Commands  int          // 0 if Dedicated is set and the action may send any number of them
	Dedicated bool         // it has a connection to itself: a blocking command, a transaction
	Names     CommandNamer // of the commands; see Command
}

// Command returns the name of the commands, such as "INCRBY", in upper case; "" if
// they have several names, or if the name is not known. It may be called until the
// request has ended.
func (s RequestStart) Command() string { return nameBy(s.Names) }

// RequestInfo is what became of a request.
type RequestInfo struct {
	Took     time.Duration // from the call to its end: waits, redirects and retries included
	Commands int
	Failed   int // commands without a reply, or with an error reply; not NOSCRIPT if EVAL follows
	Trips    int // groups of commands that were sent, with redirects and retries
	Outcome  Outcome

	Retries   int    // commands that were sent again, without redirects
	Redirects int    // commands that followed MOVED or ASK
	Addr      string // of the node, if all groups went to one; else ""

	// Code and Err are about the first command with the worst outcome. Code is the code of its
	// error reply, one of pool.ErrorCodes. Err is why it has no reply.
	Code string
	Err  error
}

// GroupStart is what is known of a group before it is sent.
type GroupStart struct {
	Pool *PoolInfo // whose connection it takes

	Commands int // commands, including the ASKING before each command that follows an ASK
	Bytes    int // bytes of the commands
	Attempt  int // 1 when the request is first sent, 2 for its first retry, and so on
	Groups   int // groups of the request that are sent at the same time

	Retried    int // commands that are sent again, without redirects
	Redirected int // commands that follow MOVED or ASK

	Names CommandNamer // of the commands; see Command
}

// Command returns the name of the commands, as RequestStart.Command does.
func (s GroupStart) Command() string { return nameBy(s.Names) }

func nameBy(n CommandNamer) string {
	if n == nil {
		return ""
	}
	return n.CommandName()
}

// GroupInfo is what became of a group.
type GroupInfo struct {
	Took    time.Duration // until the last reply arrived, with the wait for a connection
	Bytes   int           // bytes of the replies
	Failed  int           // commands without a reply, or with an error reply, with redirects; not NOSCRIPT if EVAL follows
	Outcome Outcome
	Code    string // as in RequestInfo
	Err     error  // as in RequestInfo
}

// WaitInfo is an ended wait for a connection.
type WaitInfo struct {
	Pool *PoolInfo
	Took time.Duration
}

// DialInfo is an attempt to connect that has ended.
type DialInfo struct {
	Pool  *PoolInfo
	Began time.Time
	Took  time.Duration // the whole attempt

	// How long the steps took. One that failed has the time until then, and those behind it
	// have 0. Handshake is the exchange with Redis: AUTH, READONLY and others.
	Connect, TLS, Handshake time.Duration

	Err error // nil if the attempt succeeded
}

// CloseInfo is a connection that has ended.
type CloseInfo struct {
	Pool   *PoolInfo
	Open   time.Duration // how long the connection was open
	Reason string        // one of CloseReasons, such as CloseIdle
	Err    error         // the error that ended it
}

// TopologyChange is how a map of the slots differs from the one before.
type TopologyChange struct {
	Joined, Left []string     // addresses of primaries and replicas
	Moved        int          // slots with another owner than before
	Moves        []SlotsMoved // where they moved; most slots first
	Owned        int          // slots that have an owner now
}

// SlotsMoved is how many slots moved from one node to another. An empty address means that
// no node had, or has, the slots.
type SlotsMoved struct {
	From, To string
	Slots    int
}

// Outcome is the worst outcome of the commands of a request or a group.
type Outcome uint8

// The outcomes, from best to worst.
const (
	OutcomeOK      Outcome = iota // every command has a reply that is no error
	OutcomeFailed                 // the server replied with an error, or the function of a dedicated action returned one
	OutcomeNotSent                // ErrNotSent
	OutcomeUnknown                // ErrUnknownOutcome

	// Outcomes is how many outcomes there are.
	Outcomes = 4
)

// String returns "ok", "error", "not_sent" or "unknown".
func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeFailed:
		return "error"
	case OutcomeNotSent:
		return "not_sent"
	}
	return "unknown"
}
