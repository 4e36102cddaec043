package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A greeting is one command of the handshake.
type greeting struct {
	must    bool // else it only asks, or tells, and may be refused
	command []string
}

// spared reports whether a connection is used although the server refused a question like that: it does
// not know the question, or an ACL, a full disk, a script that is running or a text of a service's own
// forbids it. The connection is of no use if the server wants a password, has no room, or loads its data.
func spared(f fate.Fate) bool {
	return f.Unsupported() || f == fate.NoPermission || f == fate.Full || f == fate.Unlisted || f == fate.Busy
}

// greetings returns the commands of the handshake. The replies to the last ones are the purpose's.
func (d dialer) greetings() (all []greeting) {
	add := func(must bool, command ...string) { all = append(all, greeting{must, command}) }
	switch user := d.Username; {
	case d.Protocol == 3 && user+d.Password != "":
		add(true, "HELLO", "3", "AUTH", cmp.Or(user, "default"), d.Password)
	case d.Protocol == 3:
		add(true, "HELLO", "3")
	case user != "":
		add(true, "AUTH", user, d.Password)
	case d.Password != "":
		add(true, "AUTH", d.Password)
	}
	if d.Database != 0 {
		add(true, "SELECT", strconv.Itoa(d.Database))
	}
	if !d.NoSetInfo {
		add(false, "CLIENT", "SETINFO", "LIB-NAME", "redislanes")
		add(false, "CLIENT", "SETINFO", "LIB-VER", lanes.Version)
	}
	if d.ClientName != "" {
		add(true, "CLIENT", "SETNAME", d.ClientName)
	}
	switch {
	case d.Role:
		add(false, "ROLE")
	case d.ReadOnly: // a pool under radix's own client also serves servers without cluster mode, which refuse it
		add(d.Admits != nil, "READONLY")
	}
	if d.Admits != nil && !d.Role {
		add(false, "CLUSTER", "MYID")
	}
	if len(all) == 0 { // nothing is a server that has not answered
		add(false, "PING")
	}
	return all
}

// handshake sends all greetings at once and reads their replies.
func (d dialer) handshake(ctx context.Context, addr string, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // not all connections know deadlines
	defer stop()
	greetings := d.greetings()
	var out []byte
	for _, g := range greetings {
		out = resp.AppendCommand(out, g.command[0], g.command[1:]...)
	}
	_, failed := conn.Write(out)
	in := &replyReader{conn: conn, framer: resp.NewFramer(maxGreeting)}
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
	e := &redislanes.HandshakeError{Command: g.command[0], Reply: strconv.Quote(fate.Printed(string(resp.ErrorText(reply))))}
	e.Hint = hint(e)
	if f, _ := fateOf(e); f == fate.NoRoom {
		e.Command = "" // the server says so whatever comes first
	}
	if d.mayChange && ofCredentials(g, e) {
		e.Cause = ErrCredentials
	}
	if d.Sentinel { // which has settings of its own
		e.Hint = strings.ReplaceAll(e.Hint, "Dialer.", "Config.SentinelDialer.")
	}
	return e
}

// failure says why the handshake has ended without a refusal. What is no RESP from
// its first byte on comes from something else than a Redis server, which is as
// good as a refusal.
func (r *replyReader) failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, errWriteTimeout): // which ends at the same moment
		err = context.DeadlineExceeded
	case r.count > 0:
	case errors.Is(err, resp.ErrProtocol):
		return &redislanes.HandshakeError{Hint: hintOfStranger(r.chunk[:]), Cause: err}
	case r.unread == nil:
		wants := "TLS (set Dialer.TLS)"
		if _, secure := r.conn.(*tls.Conn); secure {
			wants = "a client certificate (set Dialer.TLS.Certificates)"
		}
		return fmt.Errorf("handshake: the server hung up without an answer: it wants %s, is going down, or something on the way cuts connections: %w", wants, err)
	}
	return fmt.Errorf("handshake: %w", err)
}

// Refusal returns the error of a server that has refused the handshake; nil if err is none.
func Refusal(err error) *redislanes.HandshakeError {
	var refused *redislanes.HandshakeError
	if !errors.As(err, &refused) {
		return nil
	}
	return refused
}

// RefusalText is the server's error as it came, but for credentials; "" if that is not the
// reason.
func RefusalText(e *redislanes.HandshakeError) string {
	text, _ := strconv.Unquote(e.Reply)
	return text
}

// fateOf judges the server's error; false if that is not the reason.
func fateOf(e *redislanes.HandshakeError) (f fate.Fate, refused bool) {
	if e.Reply == "" {
		return 0, false
	}
	return fate.Of([]byte(RefusalText(e))), true
}

// Passes reports whether the server that has refused the handshake may accept it soon, also
// because Dialer.Credentials may return others. What is no Redis server, or speaks no TLS,
// will not become one.
func Passes(e *redislanes.HandshakeError) bool {
	f, refused := fateOf(e)
	return refused && f.PassesForDial() || errors.Is(e, ErrCredentials)
}

// RefusesWrites reports whether err is the reply of a server that refuses writes because its memory or
// its disk is full. It may refuse PING, too, and serves reads.
func RefusesWrites(err error) bool {
	text, said := cause.SaidIn(err)
	return said && fate.Of([]byte(text)) == fate.Full
}

// Busy reports whether the server has refused the handshake because it runs a script, loads its
// data, or has no link to its primary. Soon it may accept another one.
func Busy(e *redislanes.HandshakeError) bool {
	f, refused := fateOf(e)
	return refused && (f == fate.Busy || f == fate.Down)
}

// ofCredentials reports whether the server refuses a greeting because of who asks: NOAUTH,
// WRONGPASS and, as servers have many texts for tokens, any other refusal of AUTH. HELLO
// may also be refused because the server does not know it, or the protocol.
func ofCredentials(g greeting, e *redislanes.HandshakeError) bool {
	f, _ := fateOf(e)
	switch code := refusalCode(e); {
	case code == "NOAUTH" || code == "WRONGPASS":
		return true
	case f == fate.NoRoom || f == fate.Unknown || code == "DENIED" || code == "NOPROTO":
		return false
	}
	return g.command[0] == "AUTH" || g.command[0] == "HELLO" && len(g.command) > 2
}

const (
	hintStranger = "what answers there is no Redis server"
	hintWantsTLS = "the server wants TLS: set Dialer.TLS"
	hintNoTLS    = "the server speaks no TLS: leave Dialer.TLS out, or dial its port for TLS"
)

// hint says what to do about the server's error.
func hint(e *redislanes.HandshakeError) string {
	switch f, code := fate.Of([]byte(RefusalText(e))), refusalCode(e); {
	case code == "NOAUTH":
		return "set Dialer.Password or Dialer.Credentials"
	case code == "WRONGPASS":
		return "correct Dialer.Username and Dialer.Password, or what Dialer.Credentials returns"
	case f == fate.NoPermission:
		return "the ACL user lacks the permission"
	case e.Command == "SELECT" && strings.Contains(RefusalText(e), "cluster mode"):
		return "a Redis Cluster has only database 0: leave Dialer.Database out"
	}
	return ""
}

// hintOfStranger says what sends such bytes instead of RESP. A TLS alert is a record of type 21 and
// version 3.x. Source: RFC 8446, 5.1.
func hintOfStranger(first []byte) string {
	if len(first) >= 2 && first[0] == 21 && first[1] == 3 {
		return hintWantsTLS
	}
	return hintStranger
}

// tlsFailure says why the TLS handshake has failed.
func tlsFailure(err error) error {
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return &redislanes.HandshakeError{Command: "TLS", Hint: hintNoTLS, Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("TLS handshake: no answer, as from a server that speaks no TLS: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

// refusalCode returns the first word of the server's error, such as NOAUTH or ERR; "" if there is none.
func refusalCode(e *redislanes.HandshakeError) string {
	code, _, _ := strings.Cut(RefusalText(e), " ")
	return code
}
