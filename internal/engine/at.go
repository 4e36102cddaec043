package engine

import (
	"context"
	"net"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Place is a node that a program has chosen, and what for. The zero value is none.
type Place struct {
	node *node
	use  use
}

// Addr returns the node's address.
func (p Place) Addr() string { return p.node.addr }

// Places returns the primaries of the map in use, and the replicas of each.
func (c *Client) Places() (primaries []Place, replicas [][]Place, err error) {
	if err := c.Usable(context.Background()); err != nil {
		return nil, nil, err
	}
	t := c.current()
	for i, n := range t.Nodes {
		primaries = append(primaries, Place{n, asPrimary})
		var of []Place
		for _, r := range t.Replicas[i] {
			of = append(of, Place{r, asReplica})
		}
		replicas = append(replicas, of)
	}
	return primaries, replicas, nil
}

// learnAt asks for a refresh because of an error reply, and renews the node's connections if it says that they
// are stale. Nothing is tried again: the caller gets the error in any case.
func (c *Client) learnAt(p *nodepool.Node, text []byte, replica bool) {
	if hintsAt(text) {
		c.refresher.hint()
	}
	to := slots.ParseRedirect(text, p.Address())
	c.replaceStale(p, to.From(p.Address(), c.placeOf(to)), text, replica, time.Time{})
}

// learnFrom is learnAt for the replies to a request.
func (c *Client) learnFrom(r *Request, at Place) {
	for i := range r.bounds {
		if reply, err := r.lastTry(i); err == nil && resp.IsError(reply) {
			c.learnAt(r.places[i].trip.pool, resp.ErrorText(reply), at.use == asReplica)
		}
	}
}

// Connect dials a connection for the caller alone, with the client's Dialer, and returns it after
// its handshake, with the address of its server. The connection belongs to no pool, and Close of
// the client does not close it. An empty addr stands for a primary that answers.
func (c *Client) Connect(ctx context.Context, addr string) (conn net.Conn, at string, err error) {
	if err := c.Usable(ctx); err != nil {
		return nil, "", err
	}
	if err := wire.CheckAddr(addr); err != nil { // it may hold a password, which the error must not show
		return nil, "", wire.NotSent("", err)
	}
	if addr == "" {
		addr = c.anyPrimary()
	}
	if conn, err = wire.Connect(ctx, c.cfg.Dialer, wire.Purpose{}, addr); err != nil {
		c.NoteFailure(err)
		return nil, "", wire.NotSent(addr, err)
	}
	return conn, addr, nil
}

// anyPrimary returns the address of a primary that is not known to be down, if there is one.
func (all *nodes) anyPrimary() string {
	t := all.topology.Load()
	for _, n := range t.Nodes {
		if n.Answers(true) {
			return n.addr
		}
	}
	if n := t.Primary(slots.NoKey); n != nil {
		return n.addr
	}
	return all.client.seeds[0]
}
