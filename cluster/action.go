package cluster

import (
	"context"
	"errors"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// perform performs an action of radix.
func perform(ctx context.Context, c *engine.Client, action radix.Action, how engine.How) error {
	if err := c.Usable(ctx); err != nil {
		return err
	}
	if action == nil {
		return wire.NotSent("", cause.ErrNilAction)
	}
	properties := action.Properties()
	conn := routedConn{engine: c, slot: slots.NoKey, how: how, alone: !properties.CanShareConn, probes: bridge.Probes(action)}
	if bridge.EncodesItself(action) {
		return bridge.Perform(ctx, action, conn)
	}
	slot, err := c.KeysSlot(namedKeys(properties.Keys))
	if err != nil {
		return err
	}
	if conn.slot = slot; !conn.alone {
		return bridge.Perform(ctx, action, conn)
	}
	return c.WithConn(ctx, slot, how, func(dedicated *nodepool.Dedicated) error {
		return bridge.Perform(ctx, action, bridge.Conn{Dedicated: dedicated, Failed: c.NoteFailure}) // which asks for a new map
	})
}

// namedKeys is without the key of radix.WithConn(""), which stands for none.
func namedKeys(keys []string) []string {
	if len(keys) == 1 && keys[0] == "" {
		return nil
	}
	return keys
}

// A routedConn is the cluster, or one of its nodes, as a connection for one action. Each exchange
// travels to the node that owns its slot at that time. Redirects are followed for each command by
// itself: to perform the action again on another node, as radix does, would repeat commands that ran.
//
// The action may use it on several goroutines, as any radix.Conn.
type routedConn struct {
	engine *engine.Client
	slot   int32 // of an exchange without a key
	how    engine.How
	alone  bool // the action says that it cannot share a connection
	probes bool // see bridge.Probes
}

var _ radix.Conn = routedConn{}

// Addr is part of radix.Conn.
func (c routedConn) Addr() net.Addr { return wire.NetAddr(c.engine.Seed()) }

// Close does nothing.
func (c routedConn) Close() error { return nil }

// Do performs an action within the action.
func (c routedConn) Do(ctx context.Context, action radix.Action) error {
	c.probes = bridge.Probes(action)
	return bridge.Perform(ctx, action, c)
}

// An exchange is the memory of one. Nothing of it is in what a call returns.
type exchange struct {
	encoded bridge.Request
	request engine.Request
	replies []byte
}

// reset empties x, and drops what one large exchange has needed.
func (x *exchange) reset() {
	x.request.Reset()
	if cap(x.request.Buffer()) > wire.KeptBytes || cap(x.replies) > wire.KeptBytes {
		*x = exchange{}
	}
}

// EncodeDecode sends commands, and decodes their replies.
func (c routedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	x, ok := c.engine.Kept().Get().(*exchange)
	if !ok {
		x = new(exchange)
	}
	err := c.exchange(ctx, x, marshal, unmarshalInto)
	x.reset() // not after a panic of the program's
	c.engine.Kept().Put(x)
	return err
}

func (c routedConn) exchange(ctx context.Context, x *exchange, marshal, into any) error {
	encoded, r := &x.encoded, &x.request
	if err := encoded.Encode(r.Buffer(), marshal); err != nil || encoded.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	if c.alone {
		encoded.Unshared()
	}
	way := encoded.Way()
	if way == command.Held {
		return encoded.Refused()
	}
	if err := c.engine.AppendTogether(r, encoded.Encoded(), encoded.Ends(), c.slot, way == command.Alone, c.how); err != nil {
		return err
	}
	if c.probes {
		r.Probes()
	}
	if err := c.engine.Exec(ctx, r, c.how); err != nil {
		return err
	}
	return x.decode(into)
}

// decode decodes the replies. What the server refused is an error even if the receiver takes errors
// for values.
func (x *exchange) decode(into any) (err error) {
	var refused int
	r := &x.request
	if x.replies, refused, err = r.Join(x.replies[:0]); err != nil {
		if _, said := cause.SaidIn(err); said {
			return bridge.Usable(err)
		}
		return bridge.AfterContext(err)
	}
	i, err := bridge.Decode(x.replies, into)
	switch {
	case err == nil && refused < 0:
		return nil
	case err == nil:
		return bridge.Usable(r.ErrorAt(refused, nil))
	case errors.Is(err, redislanes.ErrDecode):
		return x.undecodable(i, err)
	}
	return bridge.Usable(r.ErrorAt(i, err))
}

// undecodable names the command whose reply could not be decoded.
func (x *exchange) undecodable(i int, err error) error {
	if i >= x.encoded.Len() {
		return err
	}
	from, to := x.encoded.Bounds(i)
	return wire.NameCommand(err, x.encoded.Encoded()[from:to], x.request.Node(min(i, x.request.Len()-1)))
}
