package redislanes

import "time"

// Stats is a snapshot of a client, from cluster.Client.Stats. Counters count from its
// beginning.
type Stats struct {
	Nodes []NodeStats

	Slots int // that have an owner, 16,384 in a healthy cluster

	Moved   uint64 // MOVED that were followed
	Ask     uint64 // ASK that were followed
	Refused uint64 // commands sent again because the server had refused them for now; not those that were given up
	NotSent uint64 // commands sent again because they had not been sent

	// Repeated commands were sent again although their outcome was unknown:
	// they only read, or were marked as idempotent.
	Repeated uint64

	Refreshes     uint64 // of the map of the slots, that succeeded
	RefreshErrors uint64 // that failed
}

// NodeStats is a snapshot of one pool of a node. Nodes that were never used
// have none.
type NodeStats struct {
	Role string // what the connections are for: "primary" or "replica"
	Pool PoolStats
}

// PoolStats is a snapshot of a pool, in NodeStats or from pool.Pool.Stats. Counters count from the pool's beginning.
type PoolStats struct {
	Addr string // host:port
	Kind string // "fixed", "adaptive" or "laned"

	Size      int // connections that the pool may have; of a laned pool, without dedicated ones and slow lanes
	Target    int // of these, those that it wants now: Size unless it has a range
	Open      int // connections that it has, likewise; up to twice Size while some are silent
	InUse     int // of these, those with a batch in flight or dedicated to a user
	Idle      int // of these, the others
	Dialing   int
	Dedicated int // dedicated connections with a user; in a laned pool they are not among Open
	Extra     int // connections of a laned pool besides Open: dedicated ones, with or without a user, and lanes for slow commands

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
	// it (see pool.Options.PauseTimeout). It is not counted for idle connections that are
	// pinged because of another one and answer.
	Silences uint64

	// Dials that began, those of them that failed, and connections closed, by
	// reason. Each dial that succeeded is open or was closed, at any moment:
	// Dials - DialErrors - Dialing = Open + Extra + the sum of Closes.
	Dials      uint64
	DialErrors uint64
	Closes     map[string]uint64

	// Error replies of the server by their code, which is one of pool.ErrorCodes; only
	// codes of which there were any. Those that the client followed, or sent the
	// command again after, are among them, and NOSCRIPT, although that is no failed
	// command where EVAL follows (radix.EvalScript, pipeline.Pipeline.Eval). Errors inside of another reply, as that to
	// EXEC, are not, and neither are replies that arrived when their callers had
	// left, those to the pool's own PINGs, those that stand for a reply beyond
	// lanes.Dialer.Limits, nor refused handshakes, which are DialErrors.
	ErrorReplies map[string]uint64

	// Bytes that were handed to sockets and that were read from them, by all
	// connections, without their handshakes and what TLS adds.
	BytesSent, BytesReceived uint64

	Grows, Shrinks uint64 // how often Target has changed
	LastResize     Resize // the last time; zero if it has not
}

// Saturation returns what share of the pool is in use, 0 to 1: connections in
// use by its size; for a laned pool, batches in flight by its capacity.
func (s PoolStats) Saturation() float64 {
	used, of := s.InUse, s.Size
	if s.Kind == "laned" {
		used, of = s.InFlight, s.Capacity
	}
	if of == 0 {
		return 0
	}
	return float64(used) / float64(of)
}

// Reasons why connections are closed, as PoolStats.Closes counts them.
const (
	CloseByClient  = "client"   // the pool was closed, or its server has left the cluster
	CloseIdle      = "idle"     // the pool shrank
	CloseStalled   = "stalled"  // the server was silent too long
	CloseByServer  = "server"   // the server hung up
	CloseTimeout   = "timeout"  // the socket accepted no bytes
	CloseProtocol  = "protocol" // the server sent what is not RESP
	CloseUnclean   = "unclean"  // its user left a transaction open, or the like
	CloseRenewed   = "renewed"  // the address may lead to another server now
	CloseAged      = "aged"     // it had reached MaxAge, or a user had it for long after others were authenticated again
	CloseIOFailure = "io"       // reset, unreachable and the like
)

// CloseReasons returns all of these reasons.
func CloseReasons() []string {
	return []string{
		CloseByClient, CloseIdle, CloseStalled, CloseByServer, CloseTimeout,
		CloseProtocol, CloseUnclean, CloseRenewed, CloseAged, CloseIOFailure,
	}
}

// Reasons why a pool with a range of sizes changes the wanted one, as in Resize.
const (
	GrowWaiters    = "waiters"    // callers waited
	GrowSaturation = "saturation" // more than 90 % in use
	ShrinkQuiet    = "quiet"      // less than 30 % in use for IdleTimeout
)

// A Resize is a decision to have another number of connections. To dial or
// close them takes its time after that.
type Resize struct {
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
