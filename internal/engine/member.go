package engine

import (
	"fmt"
	"slices"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// purpose returns what the handshake with a node asks.
func (c *Client) purpose(u use) wire.Purpose {
	switch {
	case c.cfg.NoIdentity:
		return wire.Purpose{ReadOnly: u == asReplica && c.cfg.Sentinel == nil && !c.cfg.Standalone}
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
	return wire.Purpose{ReadOnly: u == asReplica, Member: func(addr string, mode, id []byte) error { return c.admit(u, addr, mode, id) }}
}

// admit decides whether the server at the address may be sent commands, by its
// replies to READWRITE (or READONLY) and CLUSTER MYID: for each new connection, and
// for all that are open when the map names other nodes there. A dial that succeeds
// says nothing of what answers, and a node that was restarted without cluster mode is
// still in the other nodes' maps. What an ACL forbids a server to tell is not held against
// it. One that is loading its data does not come here: its refusal has ended the handshake.
func (c *Client) admit(u use, addr string, mode, id []byte) error {
	t := c.topology.Load()
	var err error
	switch {
	case t.view == nil || t.view.single:
		return nil
	case isDisabled(mode) || isDisabled(id):
		err = fmt.Errorf("%w: cluster support is disabled there", redislanes.ErrNotMember)
	default:
		err = t.view.admits(u, addr, idOf(id))
	}
	if err != nil {
		c.hint()
	}
	return err
}

func isDisabled(reply []byte) bool {
	return resp.IsError(reply) && fate.Of(resp.ErrorText(reply)) == fate.ClusterDisabled
}

// placed is the IDs of the nodes that a map has at one address. There may be several:
// the nodes of a shard may share a host name. A node without an ID is "".
type placed struct{ primaries, all []string }

func placesOf(ranges []slotRange) map[string]placed {
	at := make(map[string]placed)
	for _, r := range ranges {
		for i, n := range r.nodes {
			p := at[n.addr]
			if p.all = withID(p.all, n.id); i == 0 {
				p.primaries = withID(p.primaries, n.id)
			}
			at[n.addr] = p
		}
	}
	return at
}

func withID(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// admits refuses a server at an address of the map that is none of the nodes which the
// map has there. For what the primary is meant for, it has to be a primary, if the map
// has one there. The safe side is to admit: where the map or the server tells no ID, and
// at addresses that only redirects have named.
func (v *view) admits(u use, addr, id string) error {
	at := v.at[addr]
	meant := at.all
	if u == asPrimary && len(at.primaries) > 0 {
		meant = at.primaries
	}
	switch {
	case !v.sure || id == "" || len(meant) == 0 || slices.Contains(meant, id) || slices.Contains(meant, ""):
		return nil
	case !v.ids[id]:
		return fmt.Errorf("%w: its node ID is not in the map of the slots", redislanes.ErrNotMember)
	case slices.Contains(at.all, id):
		return fmt.Errorf("%w: it is a replica, and the address is that of its primary, too", redislanes.ErrNotMember)
	}
	return fmt.Errorf("%w: by its node ID it is the node of another address", redislanes.ErrNotMember)
}

// means tells whether the address leads to the same nodes by both maps, as far as they
// tell. A failover that a Sentinel tells of may have changed the server behind a name.
func (v *view) means(addr string, before *view) bool {
	if v.sentinels != nil && before.sentinels != nil {
		now, was := v.claims[0], before.claims[0]
		return addr != now.addr || addr != was.addr || now.epoch == was.epoch
	}
	now, was := v.at[addr], before.at[addr]
	return !v.sure || before.sure && sameIDs(now.primaries, was.primaries) && sameIDs(now.all, was.all)
}

func sameIDs(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id string) bool { return !slices.Contains(b, id) })
}

// readmit has connections replaced that were admitted when their address meant another
// node than by the map now in use. It happens once for each such change.
func (c *Client) readmit(before, now *view) {
	if before == nil {
		return
	}
	var changed []*nodepool.Pool
	c.mu.Lock()
	for addr, n := range c.nodes {
		if !now.means(addr, before) {
			changed = append(changed, n.open()...)
		}
	}
	c.mu.Unlock()
	for _, p := range changed {
		if now.sentinels != nil {
			p.Renew() // which of them are to the old primary is not known
		} else {
			p.Readmit()
		}
	}
}
