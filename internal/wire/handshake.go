package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A greeting is one command of the handshake.
type greeting struct {
	name string
	args []string
	must bool // else it only asks, or tells, and may be refused
}

// commandsOf returns the greetings as they are sent.
func commandsOf(greetings []greeting) (commands [][]string) {
	for _, g := range greetings {
		commands = append(commands, append([]string{g.name}, g.args...))
	}
	return commands
}

// spared reports whether a connection is used although the server refused a question like that: it does
// not know the question, or an ACL, a full disk, a script that is running or a text of a service's own
// forbids it. The connection is of no use if the server wants a password, has no room, or loads its data.
func spared(f fate.Fate) bool {
	return f.Unsupported() || f == fate.NoPermission || f == fate.Full || f == fate.Unlisted || f == fate.Busy
}

func (d dialer) greetings() []greeting {
	var greetings []greeting
	switch user := d.Username; {
	case d.Protocol == 3 && user+d.Password != "":
		if user == "" {
			user = "default"
		}
		greetings = append(greetings, greeting{"HELLO", []string{"3", "AUTH", user, d.Password}, true})
	case d.Protocol == 3:
		greetings = append(greetings, greeting{"HELLO", []string{"3"}, true})
	case user != "":
		greetings = append(greetings, greeting{"AUTH", []string{user, d.Password}, true})
	case d.Password != "":
		greetings = append(greetings, greeting{"AUTH", []string{d.Password}, true})
	}
	if d.Database != 0 {
		greetings = append(greetings, greeting{"SELECT", []string{strconv.Itoa(d.Database)}, true})
	}
	if !d.NoSetInfo {
		greetings = append(greetings,
			greeting{"CLIENT", []string{"SETINFO", "LIB-NAME", "redislanes"}, false},
			greeting{"CLIENT", []string{"SETINFO", "LIB-VER", lanes.Version}, false})
	}
	if d.ClientName != "" {
		greetings = append(greetings, greeting{"CLIENT", []string{"SETNAME", d.ClientName}, true})
	}
	greetings = append(greetings, d.questions()...)
	if len(greetings) == 0 { // nothing is a server that has not answered
		greetings = append(greetings, greeting{"PING", nil, false})
	}
	return greetings
}

// questions are the greetings whose replies are the purpose's.
func (p Purpose) questions() []greeting {
	var greetings []greeting
	if p.Role {
		return []greeting{{"ROLE", nil, false}}
	}
	if p.ReadOnly {
		must := p.Admits != nil // a pool under radix's own client also serves servers without cluster mode, which refuse it
		greetings = append(greetings, greeting{"READONLY", nil, must})
	}
	if p.Admits != nil {
		greetings = append(greetings, greeting{"CLUSTER", []string{"MYID"}, false})
	}
	return greetings
}

// handshake sends all greetings at once and reads their replies.
func (d dialer) handshake(ctx context.Context, addr string, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // not all connections know deadlines
	defer stop()
	greetings := d.greetings()
	var out []byte
	for _, c := range commandsOf(greetings) {
		out = resp.AppendCommand(out, c[0], c[1:]...)
	}
	_, failed := conn.Write(out)
	in := replyStream{replyReader: newReplyReader(conn, maxGreeting)}
	if failed != nil { // the server may have said why before it hung up
		reply, err := in.next()
		if err == nil && resp.IsError(reply) {
			return d.refusal(greetings[0], reply)
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = failed
		}
		return in.failure(ctx, err)
	}
	var last []byte
	for _, g := range greetings {
		reply, err := in.next()
		if last = reply; err != nil {
			return in.failure(ctx, err)
		}
		if resp.IsError(reply) && (g.must || !spared(fate.Of(resp.ErrorText(reply)))) {
			return d.refusal(g, reply)
		}
	}
	if len(in.unread) > 0 {
		return in.failure(ctx, fmt.Errorf("%w: more replies than commands", resp.ErrProtocol))
	}
	if d.Admits != nil {
		if err := d.Admits(addr, last); err != nil {
			return err
		}
	}
	if !stop() { // the context ended at the last moment, and the connection with it
		return in.failure(ctx, ctx.Err())
	}
	return nil
}

// refusal returns the server's error as it may be printed: a server may quote the credentials.
func (d dialer) refusal(g greeting, reply []byte) *redislanes.HandshakeError {
	e := &redislanes.HandshakeError{Command: g.name, Reply: strconv.Quote(fate.Printed(string(resp.ErrorText(reply))))}
	e.Hint = hint(e)
	if f, _ := fateOf(e); f == fate.NoRoom {
		e.Command = "" // the server says so whatever comes first
	}
	if d.mayChange && ofCredentials(g, e) {
		e.Cause = ErrCredentials
	}
	if d.Sentinel { // which has settings of its own
		e.Hint = strings.ReplaceAll(e.Hint, "Dialer.", "Config.Sentinel.Dialer.")
	}
	return e
}

// failure says why the handshake has ended without a refusal. What is no RESP from
// its first byte on comes from something else than a Redis server, which is as
// good as a refusal.
func (s *replyStream) failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case s.count > 0:
	case errors.Is(err, resp.ErrProtocol):
		return &redislanes.HandshakeError{Hint: hintOfStranger(s.chunk[:]), Cause: err}
	case s.unread == nil:
		return fmt.Errorf("handshake: the server hung up without an answer: it wants TLS (set Dialer.TLS), is going down, or something on the way cuts connections: %w", err)
	}
	return fmt.Errorf("handshake: %w", err)
}

// replyStream reads the replies of a handshake, and no pushes.
type replyStream struct {
	*replyReader
	count int // of replies that were read
}

func (s *replyStream) next() (reply []byte, err error) {
	for err == nil && (reply == nil || s.framer.Aside() == '>') {
		s.reply = reply[:0] // used again, so that endless pushes cost no memory
		reply, err = s.replyReader.next()
	}
	if err == nil {
		s.count++
	}
	return reply, err
}
