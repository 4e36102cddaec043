package engine

import (
	"context"
	"net"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// nodeClient is a node as Client.Clients hands it out. Close does nothing: the
// pools belong to the Client.
type nodeClient struct {
	node *node
	use  use
}

var _ radix.Client = nodeClient{}

func (c nodeClient) Addr() net.Addr { return wire.NetAddr(c.node.addr) }

func (c nodeClient) Do(ctx context.Context, action radix.Action) error {
	p := c.node.pool(c.use)
	err := c.perform(ctx, p, action)
	if err != nil {
		c.node.client.learnFrom(ctx, err, p, c.use)
	}
	return err
}

// learnFrom renews the node's connections if the error says that they are stale. The caller has
// chosen the node and gets the error in any case.
func (c *Client) learnFrom(ctx context.Context, err error, p *nodepool.Node, u use) {
	addr := p.Address()
	if text, said := saidBy(addr, err); said {
		to := slots.ParseRedirect(text, addr)
		c.replaceStale(p, to.From(addr, c.dialAddr(to)), text, u == asReplica, time.Time{})
	}
}

func (c nodeClient) perform(ctx context.Context, p *nodepool.Node, action radix.Action) error {
	switch {
	case action == nil:
		return wire.NotSent(p.Address(), cause.ErrNilAction)
	case ctx == nil:
		return wire.NotSent(p.Address(), cause.ErrNilContext)
	}
	shares := action.Properties().CanShareConn
	conn := nodeConn{p, c.node.client, !shares, bridge.Probes(action)}
	if !shares && !bridge.EncodesItself(action) {
		o := nodeObservation{client: c.node.client, addr: c.node.addr, dedicated: true}
		return o.of(ctx, func() error {
			return conn.Alone(ctx, func(alone radix.Conn) error { return bridge.Perform(ctx, action, alone) })
		})
	}
	return bridge.Perform(ctx, action, conn)
}

func (c nodeClient) Close() error { return nil }

// nodeConn is a node's pool as a connection for one action, which sends slow
// commands over lanes for them and blocking ones over dedicated connections.
type nodeConn struct {
	*nodepool.Node
	client   *Client
	unshared bool // the action says that it cannot share a connection
	probes   bool // see bridge.Probes
}

func (c nodeConn) Addr() net.Addr { return wire.NetAddr(c.Address()) }

func (c nodeConn) Do(ctx context.Context, action radix.Action) error {
	c.probes = bridge.Probes(action)
	return bridge.Perform(ctx, action, c)
}

func (c nodeConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	r, err := bridge.Encode(marshal)
	if err != nil || r.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	for encoded := range r.Each() {
		cmd := command.Of(encoded)
		r.Judge(cmd)
		if c.client.cfg.Slow.apply(cmd)&command.Slow != 0 {
			r.SetSlow(true)
		}
	}
	if c.unshared {
		r.Unshared()
	}
	o := nodeObservation{client: c.client, addr: c.Address(), request: r, dedicated: r.Way() == command.Alone, probes: c.probes}
	return o.of(ctx, func() error {
		err := r.Exchange(ctx, c, c.Alone, unmarshalInto)
		_, code := r.Failed()
		if hintsAt([]byte(code)) { // the receiver may take errors for values
			c.client.hint()
		}
		c.client.noteFailure(err)
		if !r.Said(saidIn(err)) { // the error is an element of a reply, and the command has run
			return err
		}
		return withOutcome(c.Address(), err)
	})
}

// Alone is part of bridge.Sharer.
func (c nodeConn) Alone(ctx context.Context, use func(radix.Conn) error) error {
	conn, err := c.Dedicate(ctx)
	if err != nil {
		c.client.noteFailure(err)
		return err
	}
	defer conn.Return()
	return use(dedicatedConn{Dedicated: conn, client: c.client, seen: new(sharedSeen)})
}

func (c nodeConn) Close() error { return nil }
