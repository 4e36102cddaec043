package engine

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/redislanes/redislanes"
)

type counters struct {
	moved, ask               atomic.Uint64
	refused, notSent         atomic.Uint64
	repeated                 atomic.Uint64
	refreshes, refreshErrors atomic.Uint64
}

// count counts a command that is sent again.
func (c *counters) count(w why) {
	switch w {
	case wasRefused:
		c.refused.Add(1)
	case wasNotSent:
		c.notSent.Add(1)
	case wasUnknown:
		c.repeated.Add(1)
	case wasMoved:
		c.moved.Add(1)
	case wasAsked:
		c.ask.Add(1)
	}
}

// String describes the client.
func (c *Client) String() string {
	if c == nil {
		return "cluster.Client(nil)"
	}
	return fmt.Sprintf("cluster.Client{%v}", c.seeds)
}

// Format prints String for every verb: fmt would read fields that are changing.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// Stats returns a snapshot. It is safe to call while the client works.
func (c *Client) Stats() redislanes.Stats {
	if !c.Made() {
		return redislanes.Stats{}
	}
	s := redislanes.Stats{
		Slots: c.current().Covered(),
		Moved: c.counters.moved.Load(), Ask: c.counters.ask.Load(),
		Refused: c.counters.refused.Load(), NotSent: c.counters.notSent.Load(), Repeated: c.counters.repeated.Load(),
		Refreshes: c.counters.refreshes.Load(), RefreshErrors: c.counters.refreshErrors.Load(),
	}
	c.mu.Lock()
	nodes := make([]*node, 0, len(c.nodes))
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	c.mu.Unlock()
	for _, n := range nodes {
		for u := range n.pools {
			if p := n.pools[u].Load(); p != nil {
				s.Nodes = append(s.Nodes, redislanes.NodeStats{Role: use(u).String(), Pool: p.Stats()})
			}
		}
	}
	return s
}
