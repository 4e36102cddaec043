package cluster

import (
	"context"
)

// Cmd sends one command, follows redirects, and returns its reply, or its error as a reply:
// at the latest when the context ends. Arguments are strings, []byte, numbers, bools,
// encoding.TextMarshalers, and slices, maps and structs of these, whose elements become
// arguments of their own, as with radix.FlatCmd. A time.Duration is refused: commands take
// numbers, some in seconds and some in milliseconds. The keys must be in one slot. A command that
// blocks, such as BLPOP, has a dedicated connection meanwhile; one that changes its
// connection, such as MULTI or SUBSCRIBE, is refused as by [Client.Do].
//
//	n, err := client.Cmd(ctx, "INCRBY", "hits", 2).Int()
//
// Many commands are faster in a pipeline, which sends them together.
func (c *Client) Cmd(ctx context.Context, name string, args ...any) Reply {
	return Reply(c.engine().Cmd(ctx, name, args))
}
