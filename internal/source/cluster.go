package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Cluster is the nodes of a Redis Cluster. A server without cluster mode is recognized, too.
type Cluster struct{ Nodes }

// Purpose is part of [Source].
func (Cluster) Purpose(replica bool, admit func(addr string, reply []byte) error) wire.Purpose {
	return wire.Purpose{ReadOnly: replica, Admits: admit}
}

// anyNode asks for the server's ID in the handshake, whose replies are small: what is no Redis server is found
// out there.
var anyNode = wire.Purpose{Admits: func(string, []byte) error { return nil }}

// Ask asks for the map with the config epochs, for the server's ID and, in case it has no cluster mode, for its
// role. An ACL may forbid all but the first: then they are unknown. It is part of [Source].
func (s Cluster) Ask(ctx context.Context, addr string, open wire.Submitter, _ *slots.Map) (a slots.Answer, err error) {
	a.Addr = addr
	replies, err := ask(ctx, s.Dialer, anyNode, addr, open,
		[]string{"CLUSTER", "SLOTS"}, []string{"CLUSTER", "NODES"}, []string{"CLUSTER", "MYID"}, []string{"ROLE"})
	alone := err == nil && slots.ClusterDisabled(replies[0])
	switch {
	case errors.Is(err, resp.ErrLimit):
		return a, fmt.Errorf("%w; a map of the slots is larger if nodes own many separate ranges: give them contiguous ones, raise Dialer.MaxReply if it is the limit, or set Config.Standalone", err)
	case err != nil:
		return a, err
	case resp.IsError(replies[0]) && !alone:
		return a, explained(addr, replies[0])
	}
	for _, reply := range replies[1:] {
		if refusedForNow(reply) { // without it less is known than before
			return a, refusal("CLUSTER", addr, reply)
		}
	}
	if alone {
		a.Map = slots.Single(addr)
		a.Map.Follows = errors.Is(AdmitPrimary(replies[3]), redislanes.ErrWrongServer)
		return a, nil
	}
	a.ID = slots.NodeID(replies[2])
	a.Map, err = s.mapOf(addr, a.ID, replies)
	return a, err
}

// mapOf reads the replies to CLUSTER SLOTS and CLUSTER NODES.
func (s Cluster) mapOf(addr, id string, replies [][]byte) (*slots.Map, error) {
	ranges, skips, err := slots.ParseSlots(replies[0], addr)
	if err == nil {
		var more []slots.Skip
		more, err = s.place(ranges)
		skips = append(skips, more...)
	}
	usable := slices.ContainsFunc(ranges, func(r slots.Range) bool { return len(r.Nodes) > 0 })
	switch {
	case err == nil && !usable && len(skips) > 0:
		err = fmt.Errorf("no primary in its CLUSTER SLOTS reply can be used; the first: %s", skips[0].Why)
	case err == nil && len(ranges) == 0:
		err = errors.New("it knows of no slots: is it part of a cluster?")
	}
	if err != nil {
		return nil, unused(err)
	}
	m := slots.NewMap(ranges, slots.ParseNodes(replies[1]), id)
	m.Skips = skips
	return m, nil
}

// unused says that a server's map is not used.
func unused(why error) error { return fmt.Errorf("its map of the slots is not used: %w", why) }

// explained says what to do about a server's refusal of CLUSTER SLOTS.
func explained(addr string, reply []byte) error {
	err := refusal("CLUSTER", addr, reply)
	switch f := fateOf(reply); {
	case f == fate.NoPermission:
		return fmt.Errorf("%w; the ACL user needs +cluster|slots, or set Config.Standalone", err)
	case f == fate.Login:
		return fmt.Errorf("%w; set Config.Dialer.Password or Credentials", err)
	case f == fate.Unknown, f == fate.Unlisted:
		return fmt.Errorf("%w; a server that may not be asked for CLUSTER needs Config.Standalone; if it is a Sentinel, set Config.Sentinel", err)
	}
	return err
}

// AdmitPrimary decides by the reply to ROLE whether the server may be sent what is for the primary. What it
// refuses to tell is not held against it.
func AdmitPrimary(role []byte) error {
	list, _ := resp.Array(role)
	if len(list) == 0 {
		return nil
	}
	if name, ok := slots.Text(list[0]); ok && string(name) != "master" {
		return fmt.Errorf("%w: its role is %s, not that of the primary", redislanes.ErrWrongServer, slots.Printable(string(name)))
	}
	return nil
}

func fateOf(reply []byte) fate.Fate { return fate.Of(resp.ErrorText(reply)) }
