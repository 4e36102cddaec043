package engine

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// Do is cluster.Client.Do. The other methods of a radix.Client are those of package cluster, too.
func (c *Client) Do(ctx context.Context, action radix.Action) error {
	return c.do(ctx, action, How{})
}

// DoSecondary is Do on a replica.
func (c *Client) DoSecondary(ctx context.Context, action radix.Action) error {
	return c.do(ctx, action, How{Replicas: true})
}

func (c *Client) do(ctx context.Context, action radix.Action, how How) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if action == nil {
		return wire.NotSent("", cause.ErrNilAction)
	}
	properties := action.Properties()
	conn := c.routed(properties, how)
	if bridge.EncodesItself(action) {
		conn.probes = bridge.Probes(action)
	} else {
		slot, err := c.keysSlot(namedKeys(properties.Keys))
		if err != nil {
			return err
		}
		if conn.alone {
			d := dedicatedAction{client: c, action: action, slot: slot, how: conn.how, canRetry: properties.CanRetry}
			return d.run(ctx)
		}
		conn.slot = slot
	}
	return conn.perform(ctx, action)
}

// namedKeys is without the key of radix.WithConn(""), which stands for none.
func namedKeys(keys []string) []string {
	if len(keys) == 1 && keys[0] == "" {
		return nil
	}
	return keys
}

// routedConn is the cluster as a connection, for one action. Each exchange travels to the node
// that owns its slot at that time. Redirects are followed for each command by itself: to perform
// the action again on another node, as radix does, would repeat commands that ran.
//
// The action may use it on several goroutines, as any radix.Conn.
type routedConn struct {
	client   *Client
	slot     int32 // of an exchange without a key
	alone    bool  // the action says that it cannot share a connection
	probes   bool  // see bridge.Probes
	how      How
	canRetry bool

	refusals *refusedCommands
	own      refusedCommands // what refusals points to, but for an action within another one
}

var _ radix.Conn = (*routedConn)(nil)

// routed returns the cluster as a connection for an action that has the properties.
func (c *Client) routed(properties radix.ActionProperties, how How) *routedConn {
	how.noFollow = !properties.CanRetry && !properties.CanPipeline
	conn := &routedConn{client: c, slot: slots.NoKey, how: how, canRetry: properties.CanRetry, alone: !properties.CanShareConn}
	conn.refusals = &conn.own
	return conn
}

// perform performs an action that encodes itself, or has no slot but that of the connection.
func (c *routedConn) perform(ctx context.Context, action radix.Action) error {
	if err := bridge.Perform(ctx, action, c); err != nil {
		return c.explain(err)
	}
	return nil
}

func (c *routedConn) Addr() net.Addr { return c.client.Addr() }

func (c *routedConn) Close() error { return nil }

func (c *routedConn) Do(ctx context.Context, action radix.Action) error {
	within := &routedConn{
		client: c.client, slot: c.slot, alone: c.alone, probes: bridge.Probes(action), how: c.how, canRetry: c.canRetry, refusals: c.refusals,
	}
	return bridge.Perform(ctx, action, within)
}

func (c *routedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	x, ok := c.client.exchanges.Get().(*sharedExchange)
	if !ok {
		x = new(sharedExchange)
	}
	err := c.exchange(ctx, x, marshal, unmarshalInto)
	x.reset() // not after a panic of the program's
	c.client.exchanges.Put(x)
	return err
}

// A sharedExchange is the memory of an exchange over shared connections. Nothing of it
// is in what a call returns.
type sharedExchange struct {
	encoded  bridge.Request
	commands []command.Command
	request  Request
	replies  []byte
}

// reset empties x, and drops what one large exchange has needed.
func (x *sharedExchange) reset() {
	x.request.Reset()
	clear(x.commands)
	if cap(x.request.arena) > wire.KeptBytes || cap(x.replies) > wire.KeptBytes {
		*x = sharedExchange{}
	}
}

func (c *routedConn) exchange(ctx context.Context, x *sharedExchange, marshal, unmarshalInto any) error {
	encoded, r := &x.encoded, &x.request
	if err := encoded.Encode(r.Buffer(), marshal); err != nil || encoded.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	r.arena = encoded.Encoded()
	commands, slot, err := c.client.look(encoded, x.commands[:0], c.slot)
	x.commands = commands
	if err != nil {
		return err
	}
	if c.alone {
		encoded.Unshared()
	}
	how := c.how
	how.Replicas = how.Replicas && !slices.ContainsFunc(commands, isWrite)
	switch encoded.Way() {
	case command.Held:
		return encoded.Refused()
	case command.Alone:
		return c.performAlone(ctx, slot, how, encoded, exchange{marshal, unmarshalInto})
	}
	for i := range encoded.Len() {
		from, to := encoded.Bounds(i)
		r.add(from, to, slot)
		r.Mark(i, c.client.cfg.Slow.apply(commands[i]))
	}
	r.probes = c.probes
	if err := c.client.Exec(ctx, r, how); err != nil {
		return err
	}
	replies, refused, err := c.join(r, x.replies[:0])
	x.replies = replies
	switch {
	case err != nil:
		return err
	case refused != nil && r.Len() == 1:
		return refused
	}
	if err := bridge.Unmarshal(replies, unmarshalInto); err != nil {
		return r.undecodable(err)
	}
	return refused
}

// look appends the commands of an exchange. It returns the slot of all that have a key, or the
// given one if none has.
func (c *Client) look(encoded *bridge.Request, commands []command.Command, otherwise int32) (_ []command.Command, slot int32, err error) {
	slot = slots.NoKey
	must := c.hasSlots()
	for one := range encoded.Each() {
		cmd := command.Of(one)
		encoded.Judge(cmd)
		commands = append(commands, cmd)
		s, _, err := c.slotOf(cmd)
		switch {
		case err != nil:
			return commands, 0, err
		case s == slots.NoKey:
		case slot != slots.NoKey && slot != s && must:
			return commands, 0, crossSlot(cmd.Name(), uint16(slot), uint16(s))
		default:
			slot = s
		}
	}
	if slot == slots.NoKey {
		slot = otherwise
	}
	return commands, slot, nil
}

// performAlone performs what may block its connection, or may not share it, on one of
// its own.
func (c *routedConn) performAlone(ctx context.Context, slot int32, how How, encoded *bridge.Request, x exchange) error {
	d := dedicatedAction{client: c.client, action: x, slot: slot, how: how, canRetry: c.canRetry, once: !how.noFollow, commands: encoded.Len()}
	if d.commands == 1 {
		d.encoded = encoded.Encoded()
	}
	err := d.run(ctx)
	addr := ""
	if d.to != nil {
		addr = d.to.Address()
	}
	c.refusals.note(refusedCommand{commandName(encoded.Encoded()), addr, saidIn(err), nil})
	return wire.NameCommand(err, encoded.Encoded(), addr)
}

// An exchange is an action of one request and its replies.
type exchange struct{ marshal, into any }

func (x exchange) Properties() radix.ActionProperties { return radix.ActionProperties{} }

func (x exchange) Perform(ctx context.Context, conn radix.Conn) error {
	return conn.EncodeDecode(ctx, x.marshal, x.into)
}

// join appends the replies to buf, also those that are errors, or returns what became
// of the first command that has none. The error refused is that of the first command
// that did not run: a receiver may take its reply for a value.
func (c *routedConn) join(r *Request, buf []byte) (replies []byte, refused, err error) {
	replies = buf
	var said []refusedCommand
	for i := range r.bounds {
		reply, err := r.outcome(i)
		addr := r.Node(i)
		if err != nil {
			return replies, nil, bridge.AfterContext(r.failed(i, addr, err))
		}
		if refused == nil && isRefusal(reply, addr) {
			refused = bridge.Usable(r.failed(i, addr, saidError(reply)))
		}
		if resp.IsError(reply) {
			var tried func(*redislanes.Error)
			if r.histories != nil {
				told, began, took := r.histories[i], r.began, r.took
				tried = func(err *redislanes.Error) { told.explain(err, began, took) }
			}
			said = append(said, refusedCommand{commandName(r.command(i)), addr, string(resp.ErrorText(reply)), tried})
		}
		replies = append(replies, reply...)
	}
	for _, reply := range slices.Backward(said) { // of those with the same text, the first one counts
		c.refusals.note(reply)
	}
	return replies, refused, nil
}

// explain names command and node in an error of the server. Any other error stays: the action may
// have got it from another client.
func (c *routedConn) explain(err error) error {
	var known *redislanes.Error
	if errors.As(err, &known) && known.Command != "" {
		return err
	}
	said, ok := cause.SaidIn(err)
	if !ok {
		return err
	}
	last, ok := c.refusals.find(said)
	if !ok {
		return err
	}
	failed := wire.Named(last.name, last.addr, textError([]byte(said)))
	if last.tried != nil && failed.Outcome != nil {
		last.tried(failed)
	}
	return bridge.Usable(failed)
}
