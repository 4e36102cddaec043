package cluster

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/resp"
)

// ErrNotMember says that the server at a node's address is not that node: it is
// none of a cluster, or one of another cluster. Nothing is sent to it, since it
// would answer from other data; commands fail with pool.ErrDown, which wraps
// this, until the address leads to the node again or the map of the slots names
// another one.
var ErrNotMember = errors.New("not a node of this cluster")

// admit decides for each new connection whether the server at the address may
// be sent commands, by its replies to READWRITE (or READONLY) and CLUSTER MYID.
// What a server refuses to tell, because of an ACL or because it is loading its
// data, is not held against it.
func (c *Client) admit(addr string, mode, id []byte) error {
	t := c.topology.Load()
	switch {
	case t.view == nil || t.view.single:
		return nil
	case isDisabled(mode) || isDisabled(id):
		c.hint()
		return fmt.Errorf("%w: cluster support is disabled there", ErrNotMember)
	}
	if known := t.view.at[addr]; !t.view.sure || known == "" || idOf(id) == "" || t.view.ids[idOf(id)] {
		return nil
	}
	c.hint()
	return fmt.Errorf("%w: its node ID is not in the map of the slots", ErrNotMember)
}

func isDisabled(reply []byte) bool {
	return resp.IsError(reply) && clusterDisabled(resp.ErrorText(reply))
}
