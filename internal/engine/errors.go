package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ *cause.SaidError }

func (r refusal) Unwrap() []error { return []error{r.SaidError, redislanes.ErrRefused} }

// replyError turns a server's error reply into the error of its command.
func replyError(command, addr string, reply []byte) error {
	return wire.Named(command, addr, saidError(reply))
}

// saidError turns a server's error reply into an error.
func saidError(reply []byte) error { return textError(resp.ErrorText(reply)) }

// textError is saidError for the error's text.
func textError(text []byte) error {
	said := cause.Said(text)
	if slots.ParseRedirect(text, "").Fate.Refused() {
		return refusal{said}
	}
	return said
}

// saidIn returns the text of the error reply, to a handshake or to a command, that err is
// about; "" if it is about none.
func saidIn(err error) string {
	if refused := wire.Refusal(err); refused != nil {
		return wire.RefusalText(refused)
	}
	text, _ := cause.SaidIn(err)
	return text
}

// ambiguous returns the error of a command that may have run although the reply is an error:
// over [Config.Standalone] a proxy makes up texts that no server sends, such as
// "ERR Connection timed out". It is nil for any other reply. Modules and scripts make up
// texts, too; those of a script that has run in part are no different.
func ambiguous(proxied bool, addr string, reply []byte) error {
	if !resp.IsError(reply) {
		return nil
	}
	return ambiguousText(proxied, addr, resp.ErrorText(reply))
}

// ambiguousText is ambiguous for an error's text.
func ambiguousText(proxied bool, addr string, text []byte) error {
	if !proxied || fate.Of(text) != fate.Unlisted {
		return nil
	}
	return wire.Unknown(addr, cause.Said(text))
}

// withOutcome adds the outcome to an error that is a server's reply: ErrRefused if the server did
// not run the command, and what ambiguous says. Any other error stays.
func withOutcome(proxied bool, addr string, err error) error {
	said, ok := cause.SaidIn(err)
	var known *redislanes.Error
	if !ok || errors.As(err, &known) && known.Outcome != nil {
		return err
	}
	text := []byte(said)
	became := ambiguousText(proxied, addr, text)
	if became == nil {
		became = textError(text)
	}
	name := ""
	if known != nil {
		name, addr = known.Command, known.Addr
	}
	return bridge.Usable(wire.Named(name, addr, became))
}

// saidBy returns the text of the error reply that err is about, if the server at addr sent it. A
// program's function may return the error of another connection, also of another cluster.
func saidBy(addr string, err error) (text []byte, ok bool) {
	var by *redislanes.Error
	if !errors.As(err, &by) || by.Addr != addr {
		return nil, false
	}
	said, ok := cause.SaidIn(by)
	return []byte(said), ok
}

// isAmbiguous tells whether the error is one of ambiguous: there was a reply.
func isAmbiguous(err error) bool {
	var lost *redislanes.Error
	var said *cause.SaidError
	return errors.As(err, &lost) && errors.Is(lost.Outcome, redislanes.ErrUnknownOutcome) && errors.As(lost.Cause, &said)
}

// runsScript tells whether the command runs a script or a function.
func runsScript(encoded []byte) bool {
	name := commandName(encoded)
	return strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "FCALL")
}

func commandName(command []byte) string {
	return strings.ToUpper(resp.CommandName(command))
}

// withRest adds the addresses that have no cause yet.
func withRest(e *cause.Unreachable, addrs []string, err error) *cause.Unreachable {
	for _, addr := range addrs {
		if !slices.ContainsFunc(e.Causes, func(c cause.OfAddr) bool { return c.Addr == addr }) {
			e.Causes = append(e.Causes, cause.OfAddr{Addr: addr, Err: err})
		}
	}
	return e
}
