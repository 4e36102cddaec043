package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// purpose returns what the handshake with a node asks.
func (c *Client) purpose(u use) wire.Purpose {
	switch {
	case c.cfg.NoIdentity:
		return wire.Purpose{ReadOnly: u == asReplica && c.cfg.Sentinel == nil && !c.cfg.Standalone}
	case c.cfg.Sentinel != nil && u == asPrimary:
		return wire.Purpose{Role: true, Admits: func(addr string, role []byte) error {
			err := slots.AdmitPrimary(addr, role)
			if err != nil {
				c.hint()
			}
			return err
		}}
	case c.cfg.Sentinel != nil, c.cfg.Standalone:
		return wire.Purpose{}
	}
	return wire.Purpose{
		ReadOnly: u == asReplica,
		Admits:   func(addr string, id []byte) error { return c.admit(u, addr, id) },
	}
}

// admit decides whether the server at the address may be sent commands, by its
// reply to CLUSTER MYID: for each new connection. A dial that succeeds
// says nothing of what answers, and a node that was restarted without cluster mode is
// still in the other nodes' maps. What an ACL forbids a server to tell is not held against
// it. One that is loading its data does not come here: its refusal has ended the handshake.
func (c *Client) admit(u use, addr string, id []byte) error {
	t := c.topology.Load()
	var err error
	switch {
	case t.Map == nil || t.Map.Single:
		return nil
	case slots.ClusterDisabled(id):
		err = fmt.Errorf("%w: cluster support is disabled there", redislanes.ErrWrongServer)
	default:
		err = t.Map.Admits(u == asPrimary, addr, slots.NodeID(id))
	}
	if err != nil {
		c.hint()
	}
	return err
}

// readmit has connections replaced whose address meant another node than by the map now in use. It
// happens once for each such change.
func (c *Client) readmit(before, now *slots.Map) {
	if before == nil {
		return
	}
	var changed []*nodepool.Node
	c.mu.Lock()
	for addr, n := range c.nodes {
		if !now.Means(addr, before) {
			changed = append(changed, n.open()...)
		}
	}
	c.mu.Unlock()
	for _, p := range changed {
		p.Replace()
	}
}
