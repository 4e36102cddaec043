package nodepool

import (
	"context"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/wire"
)

// The tests send actions of radix, as package pool does.

func (n *Node) radix() bridge.Server {
	return bridge.Server{Submitter: n, Dedicate: func(ctx context.Context) (bridge.Dedicated, error) { return n.Dedicate(ctx) }}
}

func (n *Node) Do(ctx context.Context, action radix.Action) error { return n.radix().Do(ctx, action) }

func (n *Node) Addr() net.Addr { return wire.NetAddr(n.addr) }

func (n *Node) Alone(ctx context.Context, use func(radix.Conn) error) error {
	conn, err := n.Dedicate(ctx)
	if err != nil {
		return err
	}
	defer conn.Return()
	return use(conn)
}

func (c *Dedicated) Addr() net.Addr { return wire.NetAddr(c.Address()) }

func (c *Dedicated) Do(ctx context.Context, action radix.Action) error {
	return bridge.Perform(ctx, action, c)
}

func (c *Dedicated) EncodeDecode(ctx context.Context, marshal, into any) error {
	return bridge.Conn{Dedicated: c}.EncodeDecode(ctx, marshal, into)
}
