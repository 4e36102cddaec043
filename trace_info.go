package redislanes

import "time"

// PoolInfo identifies a pool. All calls of a [Trace] about one pool get the same pointer.
type PoolInfo struct {
	Addr string // of the node, host:port
	Role string // what the connections are for: "primary" or "replica"
	Kind string // "fixed", "adaptive" or "laned"
}

// RequestStart is what is known of a request before it is sent.
type RequestStart struct {
	Commands  int                               // 0 if Dedicated is set and the action may send any number of them
	Dedicated bool                              // it has a connection to itself: a blocking command, a transaction
	Names     interface{ CommandName() string } // see Command
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

	// Outcome is the worst outcome of the commands: "ok" if every command has a reply that is no
	// error; "error" if the server replied with one, or the function of a dedicated action
	// returned one; "not_sent" for ErrNotSent; "unknown" for ErrUnknownOutcome.
	Outcome string

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

	Names interface{ CommandName() string } // see Command
}

// Command returns the name of the commands, as RequestStart.Command does.
func (s GroupStart) Command() string { return nameBy(s.Names) }

func nameBy(n interface{ CommandName() string }) string {
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
	Outcome string        // as in RequestInfo
	Code    string        // as in RequestInfo
	Err     error         // as in RequestInfo
}

// WaitInfo is an ended wait for a connection.
type WaitInfo struct {
	Pool *PoolInfo
	Took time.Duration
}

// DialInfo is an attempt to connect that has ended.
type DialInfo struct {
	Pool *PoolInfo
	Took time.Duration // with TLS, AUTH and what else a connection begins with
	Err  error         // nil if the attempt succeeded
}

// CloseInfo is a connection that has ended.
type CloseInfo struct {
	Pool   *PoolInfo
	Reason string // a key of PoolStats.Closes
	Err    error  // the error that ended it
}

// TopologyChange is how a map of the slots differs from the one before.
type TopologyChange struct {
	Joined, Left []string // addresses of primaries and replicas
	Moved        int      // slots with another owner than before
}
