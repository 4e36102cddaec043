package nodepool

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/wire"
)

// A stream is what a [Dedicated] goes over from its first SUBSCRIBE or MONITOR on: a
// connection of radix's, beside those of the pool, on which replies come without
// commands. It has the settings of the pool's connections, and their limits of replies.
type stream struct {
	radix.Conn
	pool *Pool
	stop func() bool // for what closes it with the pool
}

// Prepare encodes what an exchange sends. There is no request if there is nothing to
// send, or if the exchange went over a [stream]: then it has ended, with the error.
func (c *Dedicated) Prepare(ctx context.Context, marshal, unmarshalInto any) (request []byte, err error) {
	if ctx == nil {
		return nil, wire.NotSent(c.Address(), cause.ErrNilContext)
	}
	if marshal != nil {
		if request, err = wire.AppendRequest(nil, marshal); err != nil || len(request) == 0 {
			return nil, err
		}
	}
	over, err := c.streamFor(ctx, request)
	switch {
	case err != nil:
		return nil, err
	case over != nil && marshal == nil:
		return nil, over.exchange(ctx, nil, unmarshalInto)
	case over != nil:
		return nil, over.ask(ctx, request, unmarshalInto)
	case marshal == nil:
		_, err = wire.AppendRequest(nil, nil)
	}
	return request, err
}

// streamFor returns the stream of the dedicated connection, and makes one for a request that needs it,
// unless the dedicated connection is in a state that a new one would not be in.
func (c *Dedicated) streamFor(ctx context.Context, request []byte) (*stream, error) {
	c.mu.Lock()
	has, usable := c.stream, !c.returned && c.underWay == 0 && c.conditionLocked() == clean
	c.mu.Unlock()
	if has != nil || !usable || firstOf(command.Streams, request) == "" {
		return has, nil
	}
	made, err := c.member.pool.dialStream(ctx)
	if err != nil {
		return nil, wire.NotSent(c.Address(), err)
	}
	c.mu.Lock()
	if c.stream == nil && !c.returned {
		c.stream = made
		c.member.listens()
	}
	has = c.stream
	c.mu.Unlock()
	if has != made {
		_ = made.Close()
	}
	return has, nil
}

// firstOf returns the name of the request's first command that has the effect, or nothing.
func firstOf(e command.Effect, request []byte) (name string) {
	_, err := wire.Commands(request, func(from, to int) {
		if c := command.Of(request[from:to]); name == "" && c.Effect() == e {
			name = c.Name()
		}
	})
	if err != nil {
		return ""
	}
	return name
}

func (p *Pool) dialStream(ctx context.Context) (*stream, error) {
	conn, err := wire.Connect(ctx, p.dialer, p.purpose, p.addr)
	if err != nil {
		return nil, err
	}
	over, err := radix.Dialer{NetDialer: connected{conn}}.Dial(ctx, "tcp", p.addr)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s := &stream{Conn: over, pool: p}
	s.stop = context.AfterFunc(p.ctx, func() { _ = over.Close() })
	return s, nil
}

// connected is the dialer of a connection that is there.
type connected struct{ conn net.Conn }

func (d connected) DialContext(context.Context, string, string) (net.Conn, error) { return d.conn, nil }

// Close is part of radix.Conn.
func (s *stream) Close() error {
	s.stop()
	return s.Conn.Close()
}

// ask sends commands and waits for a reply, for PauseTimeout at most after the timeouts of the
// commands. Without a reply, their outcome is unknown: radix does not tell what it has written.
func (s *stream) ask(ctx context.Context, request []byte, into any) error {
	if silences := firstOf(command.Silences, request); silences != "" {
		return wire.Named(silences, s.pool.addr, cause.ErrUnanswered)
	}
	if err := ctx.Err(); err != nil {
		return wire.AfterContext(wire.NameCommand(wire.NotSent(s.pool.addr, err), request, s.pool.addr))
	}
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if wait := waitOf(request, knownWait); wait < command.Endless-s.pool.PauseTimeout {
		bounded, cancel = context.WithTimeout(ctx, wait+s.pool.PauseTimeout)
	}
	defer cancel()
	err := s.exchange(bounded, request, into)
	if err != nil && !isReply(err) {
		if bounded.Err() != nil && ctx.Err() == nil {
			err = cause.ErrStalled
		}
		err = wire.Unknown(s.pool.addr, err) // radix's ErrConnUsable is found in it
	}
	return wire.NameCommand(err, request, s.pool.addr)
}

// knownWait returns the command's own timeout, and none for a command that is not in the table.
func knownWait(c command.Command) time.Duration {
	if !c.Known() {
		return 0
	}
	return c.Waits()
}

// isReply tells whether the error is a reply: an error of the server, or one that was not decoded.
func isReply(err error) bool {
	return errors.As(err, new(resp3.SimpleError)) || errors.As(err, new(*redislanes.DecodeError))
}

// exchange sends the commands, if there are any, and decodes a reply or a message. Errors of the server
// print what others do. The receiver is not touched after it has returned.
//
// radix's connection waits for its reader or writer although the context has ended, and these
// may wait for the server: to take a large command, or to send a reply that nobody waits for any more.
// The caller leaves them behind. Once the server goes on, they drop what was the caller's.
func (s *stream) exchange(ctx context.Context, request []byte, into any) error {
	r := &streamReceiver{ctx: ctx, into: into}
	var marshal any
	if request != nil {
		marshal = resp3.RawMessage(request)
		r.replies, _ = wire.Commands(request, func(int, int) {})
	}
	done := make(chan error, 1)
	go func() { done <- s.Conn.EncodeDecode(ctx, marshal, r) }()
	err := awaitStream(ctx, done)
	if taken, why := r.leave(); err == nil || taken && ctx.Err() != nil {
		err = why // the decoding may have been under way when the context ended
	}
	var said resp3.SimpleError
	if errors.As(err, &said) {
		return radixresp.ErrConnUsable{Err: wire.Said(said.S)}
	}
	return err
}

func awaitStream(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	patience := time.NewTimer(streamPatience)
	defer patience.Stop()
	select {
	case err := <-done:
		return err
	case <-patience.C:
		return radixresp.ErrConnUsable{Err: ctx.Err()}
	}
}
