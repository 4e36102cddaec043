package bridge

import (
	"context"
	"errors"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Server is the connections to one server. Actions that may share a connection travel with the
// batches of others.
type Server struct {
	wire.Submitter

	// Dedicate returns a connection that its user has alone, or an error that wraps
	// [redislanes.ErrNotSent].
	Dedicate func(ctx context.Context) (Dedicated, error)
}

// A Dedicated is a connection that one user has alone until Return.
type Dedicated interface {
	// Exchange sends encoded commands and returns their replies as they came.
	Exchange(ctx context.Context, request []byte) (replies []byte, err error)
	Address() string
	Close() error
	Return()
}

// Do performs the action. For one that cannot share its connection, and for commands that may
// block, there is a dedicated connection while it runs. Outside of radix.WithConn, commands that
// change their connection, WAIT and WAITAOF are refused with [redislanes.ErrShared].
func (s Server) Do(ctx context.Context, action radix.Action) error {
	switch {
	case action == nil:
		return wire.NotSent(s.Address(), cause.ErrNilAction)
	case ctx == nil:
		return wire.NotSent(s.Address(), cause.ErrNilContext)
	}
	if shares := action.Properties().CanShareConn; shares || EncodesItself(action) {
		return Perform(ctx, action, sharedConn{s, !shares})
	}
	return s.alone(ctx, func(conn radix.Conn) error { return Perform(ctx, action, conn) })
}

// Addr returns the server's address.
func (s Server) Addr() net.Addr { return wire.NetAddr(s.Address()) }

// alone calls use with a dedicated connection.
func (s Server) alone(ctx context.Context, use func(radix.Conn) error) error {
	conn, err := s.Dedicate(ctx)
	if err != nil {
		return err
	}
	defer conn.Return()
	return use(Conn{Dedicated: conn})
}

// A sharedConn is the server as a connection, for actions that do not care which of its connections
// each of their commands travels on.
type sharedConn struct {
	Server
	unshared bool // the action says that it cannot share a connection
}

func (c sharedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	var r Request
	if err := r.Encode(nil, marshal); err != nil || r.Len() == 0 {
		return err // an empty radix.Pipeline does nothing
	}
	if c.unshared {
		r.Unshared()
	}
	return r.Exchange(ctx, c.Server, c.alone, unmarshalInto)
}

// Close does nothing: the server is not the action's.
func (c sharedConn) Close() error { return nil }

// A Conn is a dedicated connection as radix uses one. Close closes the connection.
type Conn struct {
	Dedicated
	Failed func(error) // is told how each exchange has ended; may be nil
}

var _ radix.Conn = Conn{}

// Addr returns the server's address; part of radix.Conn.
func (c Conn) Addr() net.Addr { return wire.NetAddr(c.Address()) }

// Do performs the action on this connection; part of radix.Conn.
func (c Conn) Do(ctx context.Context, action radix.Action) error { return Perform(ctx, action, c) }

// EncodeDecode sends what marshal encodes, which must be whole commands, and decodes their replies
// as [UnmarshalNamed] does; part of radix.Conn.
func (c Conn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	err := c.exchange(ctx, marshal, unmarshalInto)
	if c.Failed != nil {
		c.Failed(err)
	}
	return err
}

func (c Conn) exchange(ctx context.Context, marshal, unmarshalInto any) error {
	request, err := AppendRequest(nil, marshal)
	if err != nil || len(request) == 0 {
		return err
	}
	replies, err := c.Exchange(ctx, request)
	if err != nil {
		return AfterContext(err)
	}
	err = UnmarshalNamed(request, replies, unmarshalInto, c.Address())
	if refused := firstRefusal(request, replies, c.Address()); refused != nil && !errors.Is(err, redislanes.ErrDecode) {
		return refused
	}
	return err
}

// firstRefusal returns the error of the first command that the server refused; nil if there is none. It
// is an error even if the receiver takes errors for values.
func firstRefusal(request, replies []byte, addr string) (err error) {
	_, _ = wire.Commands(request, func(from, to int) {
		var reply []byte
		if reply, replies = resp.Cut(replies); err == nil && wire.IsRefusal(reply) {
			err = Usable(wire.NameCommand(wire.ReplyError(reply), request[from:to], addr))
		}
	})
	return err
}
