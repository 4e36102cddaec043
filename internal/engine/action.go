package engine

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// Do is that of package cluster, and so are the other methods of a radix.Client.
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
		return fmt.Errorf("redislanes: %w: %w", errNilAction, redislanes.ErrNotSent)
	}
	properties := action.Properties()
	how.noFollow = !properties.CanRetry && !properties.CanPipeline
	conn := &routedConn{client: c, slot: noKey, how: how, canRetry: properties.CanRetry, alone: !properties.CanShareConn}
	if !encodesItself(action) {
		slot, err := c.keysSlot(namedKeys(properties.Keys))
		if err != nil {
			return err
		}
		if conn.alone {
			l := lending{client: c, action: action, slot: slot, how: how, canRetry: properties.CanRetry}
			return l.run(ctx)
		}
		conn.slot = slot
	}
	if err := wire.Perform(ctx, action, conn); err != nil {
		return conn.explain(err)
	}
	return nil
}

// encodesItself reports whether the action is nothing but commands, one exchange
// after the other, so that all there is to know of it is in what it encodes.
func encodesItself(action radix.Action) bool {
	switch action.(type) {
	case radixresp.Marshaler, *radix.Pipeline:
		return true
	}
	return false
}

// namedKeys is without the key of radix.WithConn(""), which stands for none.
func namedKeys(keys []string) []string {
	if len(keys) == 1 && keys[0] == "" {
		return nil
	}
	return keys
}

// routedConn is the cluster as a connection, for one action: each of its
// exchanges travels to the node that owns its slot at that time, and redirects are
// followed for each command by itself. To perform the action again on another node,
// as radix does, would repeat commands that ran.
type routedConn struct {
	client   *Client
	slot     int32 // of an exchange without a key
	alone    bool  // every exchange is lent a connection
	how      How
	canRetry bool
	name     string            // of the last command that the server refused
	addr     string            // who refused it
	tried    func(error) error // adds how often
}

var _ radix.Conn = (*routedConn)(nil)

func (c *routedConn) Addr() net.Addr { return c.client.Addr() }

func (c *routedConn) Close() error { return nil }

func (c *routedConn) Do(ctx context.Context, action radix.Action) error {
	return wire.Perform(ctx, action, c)
}

func (c *routedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	encoded, err := wire.Encode(marshal)
	if err != nil || encoded.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	commands, slot, err := c.client.look(ctx, encoded, c.slot)
	if err != nil {
		return err
	}
	switch way := encoded.Way(); {
	case way == command.Held:
		return encoded.Refused()
	case way == command.Alone || c.alone:
		c.name = commandName(encoded.Encoded())
		return c.lend(ctx, slot, exchange{marshal, unmarshalInto})
	}
	var r Request
	r.arena = encoded.Encoded()
	for i := range encoded.Len() {
		from, to := encoded.Bounds(i)
		r.add(from, to, slot)
		r.Mark(i, c.client.slow.apply(commands[i]))
	}
	if err := c.client.Exec(ctx, &r, c.how); err != nil {
		return err
	}
	replies, refused, err := c.join(&r)
	switch {
	case err != nil:
		return err
	case refused != nil && r.Len() == 1:
		return refused
	}
	if err := wire.Unmarshal(replies, unmarshalInto); err != nil {
		return r.undecodable(err)
	}
	return refused
}

// look returns the commands of an exchange, as they are known here or to a
// server, and the slot of all that have a key, or the given one if none has.
func (c *Client) look(ctx context.Context, encoded *wire.Request, otherwise int32) (commands []command.Command, slot int32, err error) {
	slot = noKey
	for i := range encoded.Len() {
		from, to := encoded.Bounds(i)
		cmd, err := c.learned(ctx, command.Of(encoded.Encoded()[from:to]))
		if err != nil {
			return nil, 0, err
		}
		encoded.Judge(cmd)
		commands = append(commands, cmd)
		s, err := c.slotOf(cmd)
		switch {
		case err != nil:
			return nil, 0, err
		case s == noKey:
		case slot != noKey && slot != s && !c.current().single:
			return nil, 0, crossSlot(cmd.Name(), uint16(slot), uint16(s))
		default:
			slot = s
		}
	}
	if slot == noKey {
		slot = otherwise
	}
	return commands, slot, nil
}

// lend performs what may block its connection, or may not share it, on one of
// its own.
func (c *routedConn) lend(ctx context.Context, slot int32, x exchange) error {
	l := lending{client: c.client, action: x, slot: slot, how: c.how, canRetry: c.canRetry, once: !c.how.noFollow}
	err := l.run(ctx)
	if l.to != nil {
		c.addr = l.to.Address()
	}
	return err
}

// An exchange is an action of one request and its replies.
type exchange struct{ marshal, into any }

func (x exchange) Properties() radix.ActionProperties { return radix.ActionProperties{} }

func (x exchange) Perform(ctx context.Context, conn radix.Conn) error {
	return conn.EncodeDecode(ctx, x.marshal, x.into)
}

// join returns the replies, also those that are errors, one behind the other,
// or what became of the first command that has none. The error refused is that of
// the first command that did not run: a receiver may take its reply for a value.
func (c *routedConn) join(r *Request) (replies []byte, refused, err error) {
	failed := false
	for i := range r.bounds {
		reply, addr, err := r.outcome(i)
		if err != nil {
			return nil, nil, &redislanes.CommandError{Command: commandName(r.command(i)), Addr: addr, Err: r.tried(i, err)}
		}
		if refused == nil && isRefusal(reply, addr) {
			usable := radixresp.ErrConnUsable{Err: r.tried(i, saidError(reply))}
			refused = &redislanes.CommandError{Command: commandName(r.command(i)), Addr: addr, Err: usable}
		}
		if resp.IsError(reply) && !failed {
			failed, c.name, c.addr = true, commandName(r.command(i)), addr
			c.tried = func(err error) error { return r.tried(i, err) }
		}
		replies = append(replies, reply...)
	}
	return replies, refused, nil
}

// explain names command and node in an error of the server.
func (c *routedConn) explain(err error) error {
	var known *redislanes.CommandError
	if errors.As(err, &known) {
		return err
	}
	var said resp3.SimpleError
	if !errors.As(err, &said) {
		return err
	}
	usable := radixresp.ErrConnUsable{Err: said}
	if v := classify([]byte(said.S), c.addr).verdict; v != final && v != noScript {
		usable.Err = refusal{said}
		if c.tried != nil {
			usable.Err = c.tried(usable.Err)
		}
	}
	return &redislanes.CommandError{Command: c.name, Addr: c.addr, Err: usable}
}
