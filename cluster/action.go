package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// Do performs any radix action on the node that owns its keys, which must be
// in one slot; an action without keys runs on any node. Redirects are followed
// for each command by itself, also inside a radix.Pipeline. Actions that
// cannot share a connection (radix.WithConn, blocking commands) are lent one.
//
// Errors of the server are resp3.SimpleError, as from radix itself, wrapped in
// a [CommandError] unless the action was lent a connection.
func (c *Client) Do(ctx context.Context, action radix.Action) error {
	return c.do(ctx, action, How{})
}

// DoSecondary is Do on a replica, which may lag behind its primary. Where
// there is none, it is Do.
func (c *Client) DoSecondary(ctx context.Context, action radix.Action) error {
	return c.do(ctx, action, How{replica: true})
}

func (c *Client) do(ctx context.Context, action radix.Action, how How) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if action == nil {
		return fmt.Errorf("cluster: %w: %w", errNilAction, lanes.ErrNotSent)
	}
	properties := action.Properties()
	slot, err := c.KeysSlot(properties.Keys)
	if err != nil {
		return err
	}
	how.noFollow = !properties.CanRetry && !properties.CanPipeline
	if !properties.CanShareConn {
		l := lending{client: c, action: action, slot: slot, how: how, canRetry: properties.CanRetry}
		return l.run(ctx)
	}
	conn := &routedConn{client: c, slot: slot, how: how, canRetry: properties.CanRetry}
	if err := lanes.Perform(ctx, action, conn); err != nil {
		return conn.explain(err)
	}
	return nil
}

// routedConn is the cluster as a connection, for one action: each of its
// commands travels to the node that owns the action's slot at that time.
type routedConn struct {
	client   *Client
	slot     int32
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
	return lanes.Perform(ctx, action, c)
}

func (c *routedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	encoded, err := lanes.Marshal(marshal)
	if err != nil || len(encoded) == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	var r Request
	r.arena = encoded
	if _, err := lanes.Commands(encoded, func(from, to int) { r.add(from, to, c.slot) }); err != nil {
		return err
	}
	for i := range r.bounds {
		name := commandName(r.command(i))
		traits := c.client.EncodedTraits(r.command(i))
		if traits&Stateful != 0 {
			return fmt.Errorf("cluster: %s: %w", name, lanes.ErrShared)
		}
		if traits&Blocking != 0 {
			c.name = name
			return c.lend(ctx, exchange{marshal, unmarshalInto})
		}
		r.Mark(i, traits)
	}
	if err := c.client.Exec(ctx, &r, c.how); err != nil {
		return err
	}
	replies, err := c.join(&r)
	if err != nil {
		return err
	}
	return r.undecodable(lanes.Unmarshal(replies, unmarshalInto))
}

// lend performs what may block its connection on one of its own: there are
// blocking commands that radix does not know as such.
func (c *routedConn) lend(ctx context.Context, x exchange) error {
	l := lending{client: c.client, action: x, slot: c.slot, how: c.how, canRetry: c.canRetry}
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
// or what became of the first command that has none.
func (c *routedConn) join(r *Request) ([]byte, error) {
	var replies []byte
	failed := false
	for i := range r.bounds {
		reply, addr, err := r.outcome(i)
		if err != nil {
			return nil, &CommandError{commandName(r.command(i)), addr, r.tried(i, err)}
		}
		if resp.IsError(reply) && !failed {
			failed, c.name, c.addr = true, commandName(r.command(i)), addr
			c.tried = func(err error) error { return r.tried(i, err) }
		}
		replies = append(replies, reply...)
	}
	return replies, nil
}

// explain names command and node in an error of the server.
func (c *routedConn) explain(err error) error {
	var known *CommandError
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
	return &CommandError{c.name, c.addr, usable}
}
