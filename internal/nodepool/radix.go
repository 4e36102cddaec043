package nodepool

import (
	"context"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

var _ radix.Client = (*Node)(nil)

// Dial returns a node of a cluster, as radix's own Cluster needs it: it
// has answered a PING, and its connections have sent READONLY.
func Dial(ctx context.Context, s Settings, d lanes.Dialer, addr string) (*Node, error) {
	if err := wire.CheckAddr(addr); err != nil {
		return nil, fmt.Errorf("pool: the address cannot be used: %w", err)
	}
	n, err := NewFor(s.WithDefaults(true), d, wire.Purpose{ReadOnly: true}, addr, nil)
	if err != nil {
		return nil, err
	}
	n.calls = new(gate.Gate)
	if err := n.Do(ctx, radix.Cmd(nil, "PING")); err != nil && !wire.RefusesWrites(err) {
		_ = n.Close()
		return nil, err
	}
	return n, nil
}

// Addr returns the server's address; part of radix.Client.
func (n *Node) Addr() net.Addr { return wire.NetAddr(n.addr) }

// Do performs the action; part of radix.Client. One that may share its
// connection travels with the batches of others; for any other, and for commands
// that may block, there is a dedicated connection while it runs. Outside of radix.WithConn,
// commands that change their connection, WAIT and WAITAOF are refused with
// redislanes.ErrShared.
func (n *Node) Do(ctx context.Context, action radix.Action) error {
	switch {
	case action == nil:
		return wire.NotSent(n.addr, cause.ErrNilAction)
	case ctx == nil:
		return wire.NotSent(n.addr, cause.ErrNilContext)
	}
	if n.calls != nil {
		if !n.calls.Enter() {
			return wire.NotSent(n.addr, errClosed)
		}
		defer n.calls.Leave()
	}
	if shares := action.Properties().CanShareConn; shares || bridge.EncodesItself(action) {
		return bridge.Perform(ctx, action, sharedConn{n, !shares})
	}
	conn, err := n.Dedicate(ctx)
	if err != nil {
		return err
	}
	defer conn.Return()
	return bridge.Perform(ctx, action, conn)
}

// sharedConn is the node as a connection, for actions that do not care which
// of its connections each of their commands travels on.
type sharedConn struct {
	*Node
	unshared bool // the action says that it cannot share a connection
}

func (c sharedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	r, err := bridge.Encode(marshal)
	if err != nil || r.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	if c.unshared {
		r.Unshared()
	}
	return r.Exchange(ctx, c.Node, unmarshalInto)
}

// Close does nothing: the node is not the action's.
func (c sharedConn) Close() error { return nil }

var _ bridge.Sharer = (*Node)(nil)

// Alone is part of bridge.Sharer.
func (n *Node) Alone(ctx context.Context, use func(radix.Conn) error) error {
	conn, err := n.Dedicate(ctx)
	if err != nil {
		return err
	}
	defer conn.Return()
	return use(conn)
}
