package redislanes

import "time"

// PoolInfo says which pool it is. A [Trace] is given a pointer to it, which is the same
// for all that it is told of the pool.
type PoolInfo struct {
	Addr string // of the node, host:port
	Role string // what the connections are for: "primary" or "replica"
	Kind string // "fixed", "adaptive" or "laned"
}

// A CommandNamer names commands when it is asked, as most traces do not ask.
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
	Failed   int // commands without a reply, or whose reply is an error, but for NOSCRIPT where EVAL follows
	Trips    int // groups of commands that were sent, redirects and retries included
	Outcome  Outcome

	Retries   int    // commands that were sent again, but for redirects
	Redirects int    // commands that were sent to where MOVED or ASK named
	Addr      string // of the node, if all groups went to one; else ""

	// Code is that of the error reply to the first command that fared worst: one of
	// pool.ErrorCodes. Err is why that command has no reply.
	Code string
	Err  error
}

// GroupStart is what is known of a group before it is sent.
type GroupStart struct {
	Pool *PoolInfo // whose connection it takes

	Commands int // with an ASKING before each that ASK has sent there
	Bytes    int // that they have
	Attempt  int // 1 for the groups that are sent first, 2 for those that are sent again, and so on
	Groups   int // that are sent at the same time

	Retried    int // commands that are sent again, but for redirects
	Redirected int // commands that MOVED or ASK has sent there

	// Dedicated says that the group goes over a connection that its request has to itself,
	// where it may take as long as a command blocks. Attempt is the number of the try.
	Dedicated bool

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
	Took    time.Duration // until the last reply arrived, a wait for a connection included
	Bytes   int           // of the replies
	Failed  int           // commands without a reply, or whose reply is an error, redirects included; NOSCRIPT as in RequestInfo
	Outcome Outcome
	Code    string // as in RequestInfo
	Err     error
}

// WaitInfo is a wait for a connection that has ended.
type WaitInfo struct {
	Pool *PoolInfo
	Took time.Duration
}

// DialInfo is an attempt to connect that has ended.
type DialInfo struct {
	Pool  *PoolInfo
	Began time.Time
	Took  time.Duration // all of it

	// How long its steps took; 0 for those that it did not reach, and of an attempt
	// that did not end in time. Handshake is the greeting of Redis: AUTH, READONLY and
	// the like.
	Connect, TLS, Handshake time.Duration

	Err error // nil: there is a connection now
}

// CloseInfo is a connection that has ended.
type CloseInfo struct {
	Pool   *PoolInfo
	Open   time.Duration // for how long it was
	Reason string        // one of the reasons of PoolStats.Closes, such as CloseIdle
	Err    error         // behind it
}

// TopologyChange is how a map of the slots differs from the one before.
type TopologyChange struct {
	Joined, Left []string     // addresses of nodes, replicas among them
	Moved        int          // slots that have another owner
	Moves        []SlotsMoved // of these, from where to where; most slots first
	Owned        int          // slots that have an owner now
}

// SlotsMoved is how many slots have gone from one node to another. An address that
// is empty stands for no node.
type SlotsMoved struct {
	From, To string
	Slots    int
}

// Outcome is what became of a request or a group: that of the command that fared
// worst.
type Outcome uint8

// From best to worst.
const (
	OutcomeOK      Outcome = iota // every command has a reply that is no error
	OutcomeFailed                 // the server replied with an error
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
