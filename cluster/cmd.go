package cluster

import (
	"context"
)

// Cmd sends one command and follows redirects. It returns the reply, or the error as a
// reply, at the latest when the context ends. The keys must be in one slot.
//
// Arguments are strings, []byte, numbers, bools and encoding.TextMarshalers, also those of named
// types such as json.RawMessage. Each element of a slice, map or struct of these becomes an
// argument, as with radix.FlatCmd. A time.Duration is refused: some commands take seconds and some
// take milliseconds.
//
// A command that blocks, such as BLPOP, gets a dedicated connection. A command that changes its
// connection, such as MULTI or SUBSCRIBE, is refused as by [Client.Do].
//
//	n, err := client.Cmd(ctx, "INCRBY", "hits", 2).Int()
//
// Many commands are faster in a pipeline, which sends them together.
func (c *Client) Cmd(ctx context.Context, name string, args ...any) Reply {
	return Reply(c.engine().Cmd(ctx, name, args))
}
