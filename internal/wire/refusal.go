package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
)

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
	switch code := e.Code(); {
	case code == "NOAUTH" || code == "WRONGPASS":
		return true
	case f == fate.NoRoom || f == fate.Unknown || code == "DENIED" || code == "NOPROTO":
		return false
	}
	return g.name == "AUTH" || g.name == "HELLO" && len(g.args) > 1
}

const (
	hintStranger = "what answers there is no Redis server"
	hintWantsTLS = "the server wants TLS: set Dialer.TLS"
	hintNoTLS    = "the server speaks no TLS: leave Dialer.TLS out, or dial its port for TLS"
)

// hint says what to do about the server's error.
func hint(e *redislanes.HandshakeError) string {
	switch f, code := fate.Of([]byte(RefusalText(e))), e.Code(); {
	case code == "NOAUTH":
		return "set Dialer.Password or Dialer.Credentials"
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
