package engine

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A dedicatedConn is a dedicated connection. Its replies are judged as they came: what
// the server refused or redirected is an error, whatever the receiver makes of
// error replies (resp3.RawMessage and resp3.SimpleError take them as values, so
// that a BLPOP succeeded with a MOVED).
// Where ASK has led to, it sends ASKING before the commands that need it.
type dedicatedConn struct {
	*nodepool.Dedicated
	client *Client
	asking bool
	seen   *sharedSeen
}

// seen is what became of the commands that an action sent over its connection.
type seen struct {
	some   bool // a command has run
	wrote  bool // a command that may write has run
	unsent bool // the connection ended, and no command of the last exchange was sent that has no reply
}

// note looks at the commands of an exchange and their replies.
func (s *seen) note(commands [][]byte, replies []byte, addr string) {
	for _, encoded := range commands {
		var reply []byte
		reply, replies = resp.Cut(replies)
		if !isRefusal(reply, addr) && !isOfNoEffect(encoded, reply) {
			s.some = true
			s.wrote = s.wrote || command.Of(encoded).Traits()&command.ReadOnly == 0
		}
	}
}

// sharedSeen is what is seen while the action may use its connection, on several goroutines.
type sharedSeen struct {
	mu  sync.Mutex // guards all
	all seen
}

// note is [seen.note]. It reports whether any command has run so far.
func (s *sharedSeen) note(commands [][]byte, replies []byte, addr string) (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.note(commands, replies, addr)
	return s.all.some
}

// failed notes that an exchange has ended with err after these replies. A command with an unknown
// outcome counts as run.
func (s *sharedSeen) failed(commands [][]byte, replies []byte, err error, addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unsent := errors.Is(err, redislanes.ErrNotSent)
	s.all.unsent = unsent && !saysNothing(err)
	replied := 0
	for rest := replies; len(rest) > 0; replied++ {
		_, rest = resp.Cut(rest)
	}
	s.all.note(commands[:replied], replies, addr)
	if !unsent {
		s.all.some, s.all.wrote = true, true
	}
}

func (s *sharedSeen) soFar() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// isOfNoEffect tells whether the command, which was not refused, has changed nothing but its
// connection. It has opened a transaction, waits for EXEC, or was dropped by EXEC.
func isOfNoEffect(encoded, reply []byte) bool {
	switch command.Of(encoded).Effect() {
	case command.OpensTransaction, command.Watches, command.Unwatches:
		return true
	case command.EndsTransaction:
		return resp.EndsExec(reply)
	}
	return string(reply) == "+QUEUED\r\n"
}

func (c dedicatedConn) Addr() net.Addr { return wire.NetAddr(c.Address()) }

func (c dedicatedConn) Do(ctx context.Context, action radix.Action) error {
	return bridge.Perform(ctx, action, c)
}

func (c dedicatedConn) EncodeDecode(ctx context.Context, marshal, unmarshalInto any) error {
	request, err := bridge.AppendRequest(nil, marshal)
	if err != nil || len(request) == 0 {
		return err
	}
	commands, err := commandsOf(request)
	if err != nil {
		return err
	}
	replies, err := c.exchange(ctx, commands, request)
	if err != nil {
		c.client.noteFailure(err)
		return bridge.AfterContext(err)
	}
	c.client.noteReplies(replies)
	some := c.seen.note(commands, replies, c.Address())
	refused := c.client.refusedIn(c.Address(), commands, replies)
	if refused != nil && !some {
		return refused // before a receiver has seen it: all of it may be sent again
	}
	err = bridge.UnmarshalNamed(request, replies, unmarshalInto, c.Address())
	var undecoded *redislanes.DecodeError
	if refused == nil || errors.As(err, &undecoded) {
		return err
	}
	return refused
}

// exchange sends the commands and returns their replies.
func (c dedicatedConn) exchange(ctx context.Context, commands [][]byte, request []byte) ([]byte, error) {
	sent, asked := request, []bool(nil)
	if c.asking {
		sent, asked = withAsking(commands, c.InTransaction())
	}
	replies, err := c.Exchange(ctx, sent)
	replies = without(replies, asked)
	if err != nil {
		c.seen.failed(commands, replies, err, c.Address())
		return nil, err
	}
	return replies, nil
}

// commandsOf returns the commands of an encoded request.
func commandsOf(request []byte) (commands [][]byte, err error) {
	_, err = wire.Commands(request, func(from, to int) { commands = append(commands, request[from:to]) })
	return commands, err
}

// withAsking returns the request with an ASKING before each command, and which
// of its commands are those. Inside a transaction there is none: it would be
// queued and executed with the others, and the one before MULTI holds until EXEC
// (resetClient in the server's source).
func withAsking(commands [][]byte, inTransaction bool) (request []byte, asked []bool) {
	for _, encoded := range commands {
		if !inTransaction {
			request, asked = resp.AppendCommand(request, "ASKING"), append(asked, true)
		}
		request, asked = append(request, encoded...), append(asked, false)
		switch command.Of(encoded).Effect() {
		case command.OpensTransaction:
			inTransaction = true
		case command.EndsTransaction:
			inTransaction = false
		}
	}
	return request, asked
}

// without returns the replies but for those that are marked.
func without(replies []byte, marked []bool) (kept []byte) {
	if marked == nil {
		return replies
	}
	for _, drop := range marked {
		var first []byte
		if first, replies = resp.Cut(replies); !drop {
			kept = append(kept, first...)
		}
	}
	return kept
}

// refusedIn returns the error of the first of the commands that the server did not run but might
// later or elsewhere; nil if there is none.
func (c *Client) refusedIn(addr string, commands [][]byte, replies []byte) error {
	for _, encoded := range commands {
		var reply []byte
		reply, replies = resp.Cut(replies)
		if isRefusal(reply, addr) {
			return bridge.Usable(wire.Named(commandName(encoded), addr, saidError(reply)))
		}
	}
	return nil
}

// isRefusal tells whether the server at addr says that it did not run a command,
// and that it, or another one, might.
func isRefusal(reply []byte, addr string) bool {
	if !resp.IsError(reply) {
		return false
	}
	return slots.ParseRedirect(resp.ErrorText(reply), addr).Fate.Refused()
}
