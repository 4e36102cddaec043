package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A capture is a connection that sends nothing: it appends what an action would
// send to the request, and notes where the action wants its reply.
type capture struct {
	client  *engine.Client
	request []byte
	trips   int
	into    any
}

var _ radix.Conn = (*capture)(nil)

func (c *capture) Addr() net.Addr { return wire.NetAddr(c.client.Seed()) }

func (c *capture) Close() error { return nil }

func (c *capture) Do(ctx context.Context, action radix.Action) error {
	return action.Perform(ctx, c)
}

func (c *capture) EncodeDecode(_ context.Context, marshal, unmarshalInto any) (err error) {
	if c.trips++; c.trips > 1 {
		return errors.New("the action needs several round trips: append its commands one by one, or use Client.Do")
	}
	c.request, err = bridge.AppendRequest(c.request, marshal)
	c.into = unmarshalInto
	return err
}

// take appends what the action, which is one command, would send.
func (c *capture) take(action radix.Action) error {
	from, pipelined := len(c.request), action.Properties().CanPipeline
	if !pipelined && !bridge.EncodesItself(action) {
		return cause.ErrNotPipelinable
	}
	err := action.Perform(context.Background(), c)
	if err == nil {
		err = c.oneCommand(from)
	}
	// radix takes some commands for blocking by their names, whatever their arguments are (XREAD
	// without BLOCK). What the client knows of the command says whether it blocks.
	if err == nil && !pipelined && radix.DefaultActionProperties(resp.CommandName(c.request[from:])).CanPipeline {
		return cause.ErrNotPipelinable // the action says so
	}
	return err
}

// oneCommand returns an error unless what was captured, behind the first from
// bytes of the request, is one command.
func (c *capture) oneCommand(from int) error {
	switch n, err := wire.Commands(c.request[from:], func(int, int) {}); {
	case err != nil:
		return fmt.Errorf("the action does not encode whole commands: %w", redislanes.ErrNotSent)
	case n != 1:
		return fmt.Errorf("action of %d commands, want 1: append them one by one: %w", n, redislanes.ErrNotSent)
	}
	return nil
}

// actionName returns the name of the command that was captured of an action or, if none
// was, the action's type.
func actionName(action radix.Action, captured []byte) string {
	if name := resp.CommandName(captured); name != "" {
		return strings.ToUpper(name)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", action), "*")
}

func (c *capture) forget() { *c = capture{} }
