package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// purpose returns what the handshake with a node asks. A server that is not admitted asks for a refresh.
func (c *Client) purpose(u use) wire.Purpose {
	purpose := c.cfg.Source.Purpose(u == asReplica, func(addr string, id []byte) error { return c.admit(u, addr, id) })
	if admits := purpose.Admits; admits != nil {
		purpose.Admits = func(addr string, reply []byte) error {
			err := admits(addr, reply)
			if err != nil {
				c.hint()
			}
			return err
		}
	}
	return purpose
}

// admit decides whether the server at the address may be sent commands, by its reply to CLUSTER MYID, for
// each new connection. A dial that succeeds says nothing of what answers, and a node that was restarted
// without cluster mode is still in the other nodes' maps. What an ACL forbids a server to tell is not held
// against it. One that is loading its data does not come here: its refusal has ended the handshake.
func (c *Client) admit(u use, addr string, id []byte) error {
	t := c.topology.Load()
	switch {
	case t.Map == nil || t.Single:
		return nil
	case slots.ClusterDisabled(id):
		return fmt.Errorf("%w: cluster support is disabled there", redislanes.ErrWrongServer)
	}
	return t.Map.Admits(u == asPrimary, addr, slots.NodeID(id))
}
