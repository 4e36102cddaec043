package cluster

import (
	"context"
	"net"

	"github.com/mediocregopher/radix/v4"
)

// Dial returns a connection of radix to the node at addr, with the settings of Config.Dialer:
// credentials, TLS, database, NetDial, limits of replies. It is for pub/sub and MONITOR, which no
// other connection of the client carries. An empty addr stands for any primary that answers.
//
// The connection is the caller's. It belongs to no pool, follows no redirects and retries nothing.
// Its errors are those of radix. Closing the client does not close it.
//
//	conn, err := client.Dial(ctx, "")
//	subscriber := radix.PubSubConfig{}.New(conn)
//	defer subscriber.Close()
//
// docs/commands.md has a subscriber that waits until it is confirmed, and dials again when its
// connection breaks.
func (c *Client) Dial(ctx context.Context, addr string) (radix.Conn, error) {
	conn, at, err := c.engine().Connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	return radix.Dialer{NetDialer: dialled{conn}}.Dial(ctx, "tcp", at)
}

// dialled is the dialer of a connection that is there.
type dialled struct{ conn net.Conn }

func (d dialled) DialContext(context.Context, string, string) (net.Conn, error) { return d.conn, nil }
