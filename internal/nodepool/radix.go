package nodepool

import (
	"context"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/gate"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

var _ radix.Client = (*Pool)(nil)

// Dial returns a pool for a node of a cluster, as radix's own Cluster needs it: it
// has answered a PING, and its connections have sent READONLY.
func Dial(ctx context.Context, s Settings, d lanes.Dialer, addr string) (*Pool, error) {
	if err := wire.CheckAddr(addr); err != nil {
		return nil, fmt.Errorf("pool: the address cannot be used: %w", err)
	}
	p, err := NewFor(s.WithDefaults(true), d, wire.Purpose{ReadOnly: true}, addr, nil)
	if err != nil {
		return nil, err
	}
	p.calls = new(gate.Gate)
	if err := p.Do(ctx, radix.Cmd(nil, "PING")); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// Addr returns the server's address; part of radix.Client.
func (p *Pool) Addr() net.Addr { return wire.NetAddr(p.addr) }

// Do performs the action; part of radix.Client. One that may share its
// connection travels with the batches of others; for any other, and for commands
// that may block, a connection is lent while it runs. Outside of radix.WithConn,
// commands that change their connection, WAIT and WAITAOF are refused with
// redislanes.ErrShared.
func (p *Pool) Do(ctx context.Context, action radix.Action) error {
	switch {
	case action == nil:
		return wire.NotSent(p.addr, errNilAction)
	case ctx == nil:
		return wire.NotSent(p.addr, errNilContext)
	}
	if p.calls != nil {
		if !p.calls.Enter() {
			return wire.NotSent(p.addr, errClosed)
		}
		defer p.calls.Leave()
	}
	if shares := action.Properties().CanShareConn; shares || wire.EncodesItself(action) {
		return wire.Perform(ctx, action, sharedConn{p, !shares})
	}
	conn, err := p.Lend(ctx)
	if err != nil {
		return err
	}
	defer conn.Return()
	return wire.Perform(ctx, action, conn)
}

// sharedConn is the pool as a connection, for actions that do not care which
// of the pool's connections each of their commands travels on.
type sharedConn struct {
	*Pool
	unshared bool // the action says that it cannot share a connection
}

func (c sharedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	r, err := wire.Encode(marshal)
	if err != nil || r.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	if c.unshared {
		r.Unshared()
	}
	return r.Exchange(ctx, c.Pool, unmarshalInto)
}

// Close does nothing: the pool is not the action's.
func (c sharedConn) Close() error { return nil }

// Exclusive is part of wire.Submitter.
func (p *Pool) Exclusive() bool { return false }

var _ wire.Lender = (*Pool)(nil)

// Alone is part of wire.Lender.
func (p *Pool) Alone(ctx context.Context, use func(radix.Conn) error) error {
	conn, err := p.Lend(ctx)
	if err != nil {
		return err
	}
	defer conn.Return()
	return use(conn)
}
