package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ *wire.SaidError }

func (r refusal) Unwrap() []error { return []error{r.SaidError, redislanes.ErrRefused} }

// replyError turns a server's error reply into the error of its command.
func replyError(command, addr string, reply []byte) error {
	return wire.Named(command, addr, saidError(reply))
}

// saidError turns a server's error reply into an error.
func saidError(reply []byte) error {
	text := resp.ErrorText(reply)
	said := wire.Said(text)
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
	var said resp3.SimpleError
	_ = errors.As(err, &said)
	return said.S
}

// ambiguous returns the error of a command that may have run although the reply is an error:
// over [Config.Standalone] a proxy makes up texts that no server sends, such as
// "ERR Connection timed out". It is nil for any other reply. Modules and scripts make up
// texts, too; those of a script that has run in part are no different.
func ambiguous(proxied bool, addr string, reply []byte) error {
	if !proxied || !resp.IsError(reply) {
		return nil
	}
	text := resp.ErrorText(reply)
	if fate.Of(text) != fate.Unlisted {
		return nil
	}
	return wire.Unknown(addr, wire.Said(text))
}

// ambiguousError is ambiguous for a reply that is an error already; any other error stays.
func ambiguousError(proxied bool, addr string, err error) error {
	var said resp3.SimpleError
	if !proxied || !errors.As(err, &said) || fate.Of([]byte(said.S)) != fate.Unlisted {
		return err
	}
	lost := wire.Unknown(addr, wire.Said(said.S))
	var named *redislanes.Error
	if errors.As(err, &named) && named.Command != "" {
		return wire.Named(named.Command, named.Addr, lost)
	}
	return lost
}

// isAmbiguous tells whether the error is one of ambiguous: there was a reply.
func isAmbiguous(err error) bool {
	var lost *redislanes.Error
	var said *wire.SaidError
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
