package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/args"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

// Cmd is cluster.Client.Cmd.
func (c *Client) Cmd(ctx context.Context, name string, arguments []any) Reply {
	list := NewCommands(c, false)
	encoded, err := args.Append(nil, name, arguments)
	if err == nil {
		err = c.usable(ctx)
	}
	if err == nil {
		err = c.Append(&list.Request, encoded)
	}
	reply := Reply{of: &list}
	if err != nil {
		reply = list.Refuse(strings.ToUpper(name), err)
	} else {
		err = list.Do(ctx, How{})
	}
	list.state = executed
	if errors.Is(err, cause.ErrNotPipelinable) {
		list.alone, list.addr, list.err = c.cmdAlone(ctx, encoded)
		list.name, reply.index = strings.ToUpper(name), 0
	}
	return reply
}

// cmdAlone sends a command that needs a dedicated connection. It returns the reply, and the
// address of the server.
func (c *Client) cmdAlone(ctx context.Context, encoded []byte) (raw []byte, addr string, err error) {
	var reply value
	conn := c.routed(radix.ActionProperties{CanRetry: true, CanPipeline: true, CanShareConn: true}, How{})
	err = conn.perform(ctx, exchange{resp3.RawMessage(encoded), &reply})
	return reply.RawMessage, conn.refusals.addr(), err
}

// A value is a reply as it came. An error reply is the command's error, unlike with a
// resp3.RawMessage.
type value struct{ resp3.RawMessage }

func (v *value) UnmarshalRESP(br radixresp.BufferedReader, o *radixresp.Opts) error {
	if first, err := br.Peek(1); err == nil && resp.IsError(first) {
		return resp3.Unmarshal(br, nil, o)
	}
	return v.RawMessage.UnmarshalRESP(br, o)
}
