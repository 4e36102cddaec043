package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// purpose returns what the handshake with a node asks.
func (c *Client) purpose(u use) wire.Purpose {
	switch {
	case c.cfg.Sentinel != nil && u == asPrimary:
		return wire.Purpose{Role: true, Member: func(addr string, mode, role []byte) error {
			err := admitPrimary(addr, mode, role)
			if err != nil {
				c.hint()
			}
			return err
		}}
	case c.cfg.Sentinel != nil, c.cfg.Standalone:
		return wire.Purpose{}
	}
	return wire.Purpose{ReadOnly: u == asReplica, Member: c.admit}
}

// admit decides for each new connection whether the server at the address may
// be sent commands, by its replies to READWRITE (or READONLY) and CLUSTER MYID: a
// dial that succeeds says nothing of what answers, and a node that was restarted
// without cluster mode is still in the other nodes' maps. What an ACL forbids a server to
// tell is not held against it. One that is loading its data is not asked: its refusal has
// ended the handshake.
func (c *Client) admit(addr string, mode, id []byte) error {
	t := c.topology.Load()
	switch {
	case t.view == nil || t.view.single:
		return nil
	case isDisabled(mode) || isDisabled(id):
		c.hint()
		return fmt.Errorf("%w: cluster support is disabled there", redislanes.ErrNotMember)
	}
	if known := t.view.at[addr]; !t.view.sure || known == "" || idOf(id) == "" || t.view.ids[idOf(id)] {
		return nil
	}
	c.hint()
	return fmt.Errorf("%w: its node ID is not in the map of the slots", redislanes.ErrNotMember)
}

func isDisabled(reply []byte) bool {
	return resp.IsError(reply) && fate.Of(resp.ErrorText(reply)) == fate.ClusterDisabled
}
