package cluster

import "github.com/redislanes/redislanes/pool"

// Stats is a snapshot of a client. Counters count from its beginning.
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
	Pool pool.Stats
}

// Stats returns a snapshot. It is safe to call while the client works.
func (c *Client) Stats() Stats {
	from := c.engine().Stats()
	s := Stats{
		Slots: from.Slots, Moved: from.Moved, Ask: from.Ask, Refused: from.Refused, NotSent: from.NotSent,
		Repeated: from.Repeated, Refreshes: from.Refreshes, RefreshErrors: from.RefreshErrors,
	}
	for _, n := range from.Nodes {
		s.Nodes = append(s.Nodes, NodeStats{Role: n.Role, Pool: pool.Stats(n.Pool)})
	}
	return s
}
