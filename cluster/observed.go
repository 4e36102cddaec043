package cluster

import (
	"time"

	"github.com/redislanes/redislanes/internal/engine"
)

// PoolInfo says which pool it is.
type PoolInfo struct {
	Addr string // of the node, host:port
	Role string // what the connections are for: "primary" or "replica"
	Kind string // "fixed", "adaptive" or "laned"
}

// RequestStart is what is known of a request before it is sent.
type RequestStart struct {
	Commands int  // 0 if Lent is set and the action may send any number of them
	Lent     bool // it has a connection to itself: a blocking command, a transaction

	names engine.Namer
}

// Command returns the name of the commands, such as "INCRBY", in upper case; "" if
// they have several names, or if the name is not known. It may be called until the
// request has ended.
func (s RequestStart) Command() string { return nameBy(s.names) }

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
	Commands int // with an ASKING before each that ASK has sent there
	Bytes    int // that they have
	Wave     int // 1 for the first groups of the request, 2 for those that go again, and so on
	Groups   int // in the wave

	Retried    int // commands that are sent again, but for redirects
	Redirected int // commands that MOVED or ASK has sent there

	// Lent says that the group goes over a connection that its request has to itself,
	// where it may take as long as a command blocks. Its wave is the number of the try.
	Lent bool

	names engine.Namer
}

// Command returns the name of the commands, as RequestStart.Command does.
func (s GroupStart) Command() string { return nameBy(s.names) }

func nameBy(n engine.Namer) string {
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

// DialInfo is an attempt to connect that has ended.
type DialInfo struct {
	Began time.Time
	Took  time.Duration // all of it

	// How long its steps took; 0 for those that it did not reach, and of an attempt
	// that did not end in time. Handshake is the greeting of Redis: AUTH, READONLY and
	// the like.
	Connect, TLS, Handshake time.Duration

	Err error // nil: there is a connection now
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
	OutcomeOK      = Outcome(engine.OutcomeOK)      // every command has a reply that is no error
	OutcomeError   = Outcome(engine.OutcomeError)   // the server replied with an error
	OutcomeNotSent = Outcome(engine.OutcomeNotSent) // redislanes.ErrNotSent
	OutcomeUnknown = Outcome(engine.OutcomeUnknown) // redislanes.ErrUnknownOutcome

	// Outcomes is how many outcomes there are.
	Outcomes = engine.Outcomes
)

// String returns "ok", "error", "not_sent" or "unknown".
func (o Outcome) String() string { return engine.Outcome(o).String() }
