package pool

import (
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
)

// Reasons why connections are closed, as Stats.Closes counts them.
const (
	CloseByClient  = nodepool.CloseByClient  // the pool was closed, or its server has left the cluster
	CloseIdle      = nodepool.CloseIdle      // the pool shrank
	CloseStalled   = nodepool.CloseStalled   // the server was silent too long
	CloseByServer  = nodepool.CloseByServer  // the server hung up
	CloseTimeout   = nodepool.CloseTimeout   // the socket accepted no bytes
	CloseProtocol  = nodepool.CloseProtocol  // the server sent what is not RESP
	CloseUnclean   = nodepool.CloseUnclean   // its user left a transaction open, or the like
	CloseRenewed   = nodepool.CloseRenewed   // the address may lead to another server now
	CloseAged      = nodepool.CloseAged      // it had reached MaxAge, or was lent for long when others were authenticated again
	CloseIOFailure = nodepool.CloseIOFailure // reset, unreachable and the like
)

// Stats is a snapshot of a pool. Counters count from the pool's beginning.
type Stats struct {
	Addr string // host:port
	Kind string // "fixed", "adaptive" or "laned"

	Size    int // connections that the pool may have; of a laned pool, without lent ones and slow lanes
	Target  int // of these, those that it wants now: Size unless it has a range
	Open    int // connections that it has, likewise; up to twice Size while some are silent
	InUse   int // of these, those with a batch in flight or lent
	Idle    int // of these, the others
	Dialing int
	Lent    int // connections lent to one user; of a laned pool, besides Open
	Extra   int // connections of a laned pool besides Open: those to be lent, lent or not, and lanes for slow commands

	Capacity     int   // batches that may be in flight at a time
	InFlight     int   // batches in flight; the PINGs of idle connections are none, here and above
	LaneInFlight []int // the same for each open connection; nil unless the pool is laned

	// Batches in flight on the lanes for slow commands of a laned pool, besides
	// those above: in all, and on each open lane; nil until the first slow command.
	SlowInFlight     int
	SlowLaneInFlight []int

	Waiters   int           // batches and users that wait now
	WaitCount uint64        // that had to wait
	WaitTime  time.Duration // how long they waited, in all
	Exhausted uint64        // that failed with ErrExhausted

	Down  bool   // the server is down: batches fail with ErrDown at once
	Downs uint64 // how often that began

	// The server is suspect: it has been silent for an unusual time, and has not
	// answered over another connection. Batches fail with ErrDown at once, but the
	// connections stay open. Not set while it is down.
	Suspect  bool
	Suspects uint64 // how often that began

	// How often a connection was silent for so long that no new batch was given to
	// it (see Options.PauseTimeout). It is not counted for idle connections that are
	// pinged because of another one and answer.
	Silences uint64

	// Dials that began, those of them that failed, and connections closed, by
	// reason. Each dial that succeeded is open or was closed, at any moment:
	// Dials - DialErrors - Dialing = Open + Extra + the sum of Closes.
	Dials      uint64
	DialErrors uint64
	Closes     map[string]uint64

	// Error replies of the server by their code, which is one of [ErrorCodes]; only
	// codes of which there were any. Those that the client followed, or sent the
	// command again after, are among them, and NOSCRIPT, although that is no failed
	// command where EVAL follows (radix.EvalScript, pipeline.Pipeline.Eval). Errors inside of another reply, as that to
	// EXEC, are not, and neither are replies that arrived when their callers had
	// left, those to the pool's own PINGs, those that stand for a reply beyond
	// Dialer.Limits, nor refused handshakes, which are DialErrors.
	ErrorReplies map[string]uint64

	// Bytes that were handed to sockets and that were read from them, by all
	// connections, without their handshakes and what TLS adds.
	BytesSent, BytesReceived uint64

	Grows, Shrinks uint64 // how often Target has changed
	LastResize     Resize // the last time; zero if it has not
}

// ErrorCodes returns the codes by which Stats.ErrorReplies counts, such as "OOM": a
// fixed list, of which the last one, "other", stands for all codes that are not in
// it. The code of an error reply is the first word of its text.
func ErrorCodes() []string { return nodepool.ErrorCodes() }

// Saturation returns what share of the pool is in use, 0 to 1: connections in
// use by its size; for a laned pool, batches in flight by its capacity.
func (s Stats) Saturation() float64 {
	used, of := s.InUse, s.Size
	if s.Kind == "laned" {
		used, of = s.InFlight, s.Capacity
	}
	if of == 0 {
		return 0
	}
	return float64(used) / float64(of)
}

// Reasons why a pool with a range of sizes changes the wanted one.
const (
	GrowWaiters    = nodepool.GrowWaiters    // callers waited
	GrowSaturation = nodepool.GrowSaturation // more than 90 % in use
	ShrinkQuiet    = nodepool.ShrinkQuiet    // less than 30 % in use for IdleTimeout
)

// A Resize is a decision to have another number of connections. To dial or
// close them takes its time after that.
type Resize = struct {
	Time     time.Time
	From, To int    // wanted connections
	Reason   string // GrowWaiters, GrowSaturation or ShrinkQuiet

	// What led to it: the highest load since the pool's last look, divided by
	// what From connections carry, more than 1 if callers waited; and how many
	// waited at that moment. For ShrinkQuiet, the load is that of the whole
	// quiet time.
	Saturation float64
	Waiters    int
}
