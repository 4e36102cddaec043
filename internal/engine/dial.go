package engine

import (
	"context"
	"net"

	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

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
