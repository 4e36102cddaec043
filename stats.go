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

	Size  int // the most connections; of a laned pool without dedicated ones and lanes for slow commands
	Open  int // open connections of all kinds
	InUse int // open connections with a batch in flight, or with a user

	// Capacity is how many batches may be in flight at a time: Size, or in a laned pool Size times
	// MaxInFlight. The others are the batches in flight on each lane, and on each lane for slow
	// commands; nil unless the pool is laned. The PING of an idle connection does not count.
	Capacity         int
	LaneInFlight     []int
	SlowLaneInFlight []int

	// A waiter is a batch, or a user of a dedicated connection, that found no connection free.
	Waiters   int           // waiters now
	WaitCount uint64        // waiters so far
	WaitTime  time.Duration // the sum of their waits
	Exhausted uint64        // batches and users that failed with ErrExhausted

	Down  bool   // the server is down or suspect: batches fail with ErrDown at once
	Downs uint64 // how often it became so

	// Dials counts dials that have ended, DialErrors those that failed, and Closes connections
	// that were closed, by reason. At any moment Dials - DialErrors = Open + the sum of Closes. The
	// reasons are
	//
	//   - client: the pool was closed, its server has left the cluster, or a user closed the connection
	//   - idle: the pool shrank, or a dedicated connection was idle
	//   - stalled: the server was silent too long
	//   - server: the server hung up
	//   - timeout: the socket accepted no bytes
	//   - protocol: the server sent something that is not RESP, or a reply larger than lanes.Dialer.MaxReply
	//   - unclean: its user has changed it
	//   - renewed: the address may lead to another server now
	//   - aged: it reached MaxAge
	//   - io: reset, unreachable and other errors of the network
	Dials      uint64
	DialErrors uint64
	Closes     map[string]uint64

	// ErrorReplies counts the server's error replies by code, which is the first word of the
	// text, such as "OOM". "other" stands for codes that only some commands get. Codes that did
	// not occur are absent. Redirects, NOSCRIPT and refusals that led to a retry count. These do
	// not count:
	//
	//   - errors inside another reply, such as the reply to EXEC,
	//   - replies that arrived after their caller had left,
	//   - replies to the pool's own PINGs,
	//   - refused handshakes, which are DialErrors.
	ErrorReplies map[string]uint64
}

// InFlight returns how many batches are in flight, without those on lanes for slow commands. For
// a pool that is not laned it is InUse.
func (s PoolStats) InFlight() (n int) {
	if s.Kind != "laned" {
		return s.InUse
	}
	for _, k := range s.LaneInFlight {
		n += k
	}
	return n
}

// Saturation returns the share of the pool that is in use, 0 to 1: InFlight divided by Capacity.
func (s PoolStats) Saturation() float64 {
	if s.Capacity == 0 {
		return 0
	}
	return min(float64(s.InFlight())/float64(s.Capacity), 1)
}
