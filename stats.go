package redislanes

import "time"

// Stats is a snapshot of a client, from cluster.Client.Stats. Counters start at 0 when the
// client is made.
type Stats struct {
	Nodes []NodeStats

	Slots int // slots that have an owner: 16,384 in a healthy cluster

	Moved   uint64 // MOVED redirects that were followed
	Ask     uint64 // ASK redirects that were followed
	Refused uint64 // commands retried because the server had refused them for now
	NotSent uint64 // commands retried because they had not been sent

	// Repeated counts commands that were retried although their outcome was unknown:
	// they only read, or were marked as idempotent.
	Repeated uint64

	Refreshes     uint64 // fetches of the map of the slots that succeeded
	RefreshErrors uint64 // fetches that failed
}

// NodeStats is a snapshot of one pool of a node. Nodes that were never used
// have none.
type NodeStats struct {
	Role string // what the connections are for: "primary" or "replica"
	Pool PoolStats
}

// PoolStats is a snapshot of a pool, in NodeStats or from pool.Pool.Stats. Counters start at
// 0 when the pool is made.
type PoolStats struct {
	Addr string // host:port
	Kind string // "fixed", "adaptive" or "laned"

	// Size to Idle count the pool's connections. In a laned pool, dedicated connections and
	// lanes for slow commands are not among them: Extra counts those.
	Size    int // the most connections that the pool may have
	Target  int // the number that it wants now: Size, unless the pool has a range
	Open    int // open connections; up to twice Size while some are silent
	InUse   int // open connections with a batch in flight, or dedicated to a user
	Idle    int // Open - InUse
	Dialing int // dials under way

	Dedicated int // dedicated connections that have a user
	Extra     int // dedicated connections, with or without a user, and lanes for slow commands; 0 unless the pool is laned

	// None of the counts here and above includes the PING of an idle connection.
	Capacity     int   // batches that may be in flight at a time
	InFlight     int   // batches in flight
	LaneInFlight []int // batches in flight on each open lane; nil unless the pool is laned

	// Batches in flight on the lanes for slow commands, in sum and on each open lane. InFlight
	// does not include them. Nil until the first slow command.
	SlowInFlight     int
	SlowLaneInFlight []int

	// A waiter is a batch, or a user of a dedicated connection, that found no connection free.
	Waiters   int           // waiters now
	WaitCount uint64        // waiters so far
	WaitTime  time.Duration // the sum of their waits
	Exhausted uint64        // batches and users that failed with ErrExhausted

	Down  bool   // the server is down: batches fail with ErrDown at once
	Downs uint64 // how often the server went down

	// Suspect says that the server has been silent for an unusual time, and has not
	// answered over another connection. Batches fail with ErrDown at once, but the
	// connections stay open. It is false while Down is true.
	Suspect  bool
	Suspects uint64 // how often the server became suspect

	// Silences counts how often a connection was silent for so long that it got no new batch
	// (see pool.Options.PauseTimeout). An idle connection that answers the PING which another
	// silent connection caused does not count.
	Silences uint64

	// Dials counts dials that began, DialErrors those that failed, and Closes connections
	// that were closed, by reason. At any moment
	// Dials - DialErrors - Dialing = Open + Extra + the sum of Closes.
	Dials      uint64
	DialErrors uint64
	Closes     map[string]uint64

	// ErrorReplies counts error replies of the server by code, which is one of
	// pool.ErrorCodes. It has only codes that occurred. Redirects and refusals that led to a
	// retry count, and so does NOSCRIPT. These do not count:
	//
	//   - errors inside another reply, such as the reply to EXEC,
	//   - replies that arrived after their caller had left,
	//   - replies to the pool's own PINGs,
	//   - refused handshakes, which are DialErrors.
	ErrorReplies map[string]uint64

	// Bytes written to and read from the sockets of all connections, without handshakes and
	// the overhead of TLS.
	BytesSent, BytesReceived uint64

	Grows, Shrinks uint64 // how often Target rose and fell
	LastResize     Resize // the last change of Target; zero if there was none
}

// Saturation returns the share of the pool that is in use, 0 to 1: InUse / Size. For a laned
// pool it is InFlight / Capacity. It is 1 also if more than Size connections are in use because
// some are silent.
func (s PoolStats) Saturation() float64 {
	used, of := s.InUse, s.Size
	if s.Kind == "laned" {
		used, of = s.InFlight, s.Capacity
	}
	if of == 0 {
		return 0
	}
	return min(float64(used)/float64(of), 1)
}

// Reasons why connections are closed, as PoolStats.Closes counts them.
const (
	CloseByClient  = "client"   // the pool was closed, its server has left the cluster, or a user closed the connection
	CloseIdle      = "idle"     // the pool shrank, or a dedicated connection was idle
	CloseStalled   = "stalled"  // the server was silent too long
	CloseByServer  = "server"   // the server hung up
	CloseTimeout   = "timeout"  // the socket accepted no bytes
	CloseProtocol  = "protocol" // the server sent something that is not RESP, or a reply larger than lanes.Dialer.MaxReply
	CloseUnclean   = "unclean"  // its user has changed it
	CloseRenewed   = "renewed"  // the address may lead to another server now
	CloseAged      = "aged"     // it reached MaxAge
	CloseIOFailure = "io"       // reset, unreachable and other errors of the network
)

// CloseReasons returns all of these reasons.
func CloseReasons() []string {
	return []string{
		CloseByClient, CloseIdle, CloseStalled, CloseByServer, CloseTimeout,
		CloseProtocol, CloseUnclean, CloseRenewed, CloseAged, CloseIOFailure,
	}
}

// Reasons why a pool with a range of sizes changes its target, as in Resize.
const (
	GrowWaiters    = "waiters"    // callers waited
	GrowSaturation = "saturation" // more than 90 % in use; at the minimum, more than all
	ShrinkQuiet    = "quiet"      // less than 30 % in use for IdleTimeout
)

// A Resize is a change of a pool's target. Connections are dialled or closed after it.
type Resize struct {
	Time     time.Time
	From, To int    // wanted connections
	Reason   string // GrowWaiters, GrowSaturation or ShrinkQuiet

	// Saturation is the highest load since the pool's last look, divided by the load that From
	// connections carry. It is more than 1 if callers waited. For ShrinkQuiet it is the
	// highest load of the whole quiet time.
	Saturation float64
	Waiters    int // callers that waited at that moment
}
