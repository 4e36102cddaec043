package pipeline

import (
	"context"
	"errors"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// captureConn is a connection that sends nothing and notes what an action
// would send, and where it wants its reply.
type captureConn struct {
	client  *cluster.Client
	encoded []byte
	into    any
}

var _ radix.Conn = (*captureConn)(nil)

func (c *captureConn) Addr() net.Addr { return c.client.Addr() }

func (c *captureConn) Close() error { return nil }

func (c *captureConn) Do(ctx context.Context, action radix.Action) error {
	return action.Perform(ctx, c)
}

func (c *captureConn) EncodeDecode(_ context.Context, marshal, unmarshalInto any) error {
	if c.encoded != nil {
		return errors.New("action of several round trips: append its commands one by one, or use Client.Do")
	}
	encoded, err := lanes.Marshal(marshal)
	if err != nil {
		return err
	}
	c.encoded, c.into = encoded, unmarshalInto
	return nil
}
