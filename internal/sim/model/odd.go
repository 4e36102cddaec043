package model

import "fmt"

// An Oddity is what is odd in the maps that nodes tell, beside their usual rows: a node of
// which clients cannot make sense, or which they cannot reach.
type Oddity uint8

// The oddities. All but the last one are one more replica of each primary.
const (
	NothingOdd Oddity = iota
	PortZero          // a node that speaks TLS only
	NoHost            // a node of which nobody knows the host
	Bracketed         // an IPv6 address in brackets
	IDN               // a name with letters beyond ASCII
	NullMetadata

	Oddities = iota
)

// Oddity makes all nodes tell maps with something odd in them; NothingOdd ends it.
func (c *Cluster) Oddity(o Oddity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.odd = o
}

// oddID is the ID of the odd node.
const oddID = "0dd0dd0dd0dd0dd0dd0dd0dd0dd0dd0dd0dd0dd0"

// replica returns the odd node's address; no host: there is none.
func (o Oddity) replica() (host string, port int) {
	switch o {
	case PortZero:
		return "10.7.7.7", 0
	case NoHost:
		return "?", 6379
	case Bracketed:
		return "[fd00::7]", 6379
	case IDN:
		return "knöten.example", 6379
	}
	return "", 0
}

// oddReplica adds the odd node to a row of CLUSTER SLOTS.
func (c *call) oddReplica() {
	if host, port := c.n.c.odd.replica(); host != "" {
		c.array(4)
		c.each(host, port, oddID)
		c.mapOf(0)
	}
}

// metadata ends a node in a row of CLUSTER SLOTS.
func (c *call) metadata() {
	if c.n.c.odd == NullMetadata {
		c.null()
		return
	}
	c.mapOf(0)
}

// oddLines are those of CLUSTER NODES.
func (c *call) oddLines(primary string) string {
	if host, port := c.n.c.odd.replica(); host != "" {
		return fmt.Sprintf("%s %s:%d@%d slave %s 0 %d 1 connected\n", oddID, host, port, port+10000, primary, c.ms)
	}
	return ""
}

// more is how many nodes a row of CLUSTER SLOTS has more.
func (o Oddity) more() int {
	if host, _ := o.replica(); host != "" {
		return 1
	}
	return 0
}
