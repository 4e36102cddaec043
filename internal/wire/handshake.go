package wire

import (
	"context"
	"crypto/tls"
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
	need need
}

// commandsOf returns the greetings as they are sent.
func commandsOf(greetings []greeting) (commands [][]string) {
	for _, g := range greetings {
		commands = append(commands, append([]string{g.name}, g.args...))
	}
	return commands
}

// need is how much a greeting is needed.
type need uint8

const (
	must   need = iota // the connection is of no use without it
	should             // of no use, unless the server does not know the command
	may                // the same, and an ACL or a full disk may forbid it: it only asks
	tells              // the same, and nobody needs the answer
)

// spares reports whether the connection can be used although the server refused the greeting. It can
// if the server does not know the command. A server that can write no file refuses PING (MISCONF), and
// serves reads. A refusal for now is no reason: a replica that is busy
// and refuses READONLY would redirect all reads of this connection. A greeting that only tells is
// also spared if no server sends the text, since services have texts of their own, and if a script
// is running: SCRIPT KILL may need a new connection.
func (n need) spares(f fate.Fate) bool {
	return n >= should && f.Unsupported() || n >= may && (f == fate.NoPermission || f == fate.Full) ||
		n == tells && (f == fate.Unlisted || f == fate.Busy)
}

func (d dialer) greetings() []greeting {
	var greetings []greeting
	switch user := d.Username; {
	case d.Protocol == 3 && user+d.Password != "":
		if user == "" {
			user = "default"
		}
		greetings = append(greetings, greeting{"HELLO", []string{"3", "AUTH", user, d.Password}, must})
	case d.Protocol == 3:
		greetings = append(greetings, greeting{"HELLO", []string{"3"}, must})
	case user != "" || d.Password != "":
		greetings = append(greetings, d.auth())
	}
	if d.Database != 0 {
		greetings = append(greetings, greeting{"SELECT", []string{strconv.Itoa(d.Database)}, must})
	}
	if !d.NoSetInfo {
		greetings = append(greetings,
			greeting{"CLIENT", []string{"SETINFO", "LIB-NAME", "redislanes"}, tells},
			greeting{"CLIENT", []string{"SETINFO", "LIB-VER", lanes.Version}, tells})
	}
	if d.ClientName != "" {
		greetings = append(greetings, greeting{"CLIENT", []string{"SETNAME", d.ClientName}, must})
	}
	greetings = append(greetings, d.questions()...)
	if len(greetings) == 0 { // nothing is a server that has not answered
		greetings = append(greetings, greeting{"PING", nil, may})
	}
	return greetings
}

// questions are the greetings whose replies are the purpose's.
func (p Purpose) questions() []greeting {
	var greetings []greeting
	if p.Role {
		return []greeting{{"ROLE", nil, may}}
	}
	if p.ReadOnly {
		greetings = append(greetings, greeting{"READONLY", nil, should})
	}
	if p.Admits != nil {
		greetings = append(greetings, greeting{"CLUSTER", []string{"MYID"}, tells})
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
	in := replyStream{replyReader: newReplyReader(conn, maxGreeting), tls: d.TLS}
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
		if resp.IsError(reply) {
			if refused := d.refusal(g, reply); !g.need.spares(fate.Of(resp.ErrorText(reply))) {
				return refused
			}
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
	case s.tls != nil && isAlert(err):
		return tlsFailure(err, s.tls)
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
	tls   *tls.Config // nil: not over TLS
	count int         // of replies that were read
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
