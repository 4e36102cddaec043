package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/cause"
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

// withOutcome adds the outcome to an error that is a server's reply: ErrRefused if the server did
// not run the command. Any other error stays.
func withOutcome(addr string, err error) error {
	said, ok := cause.SaidIn(err)
	var known *redislanes.Error
	if !ok || errors.As(err, &known) && known.Outcome != nil {
		return err
	}
	became, name := textError([]byte(said)), ""
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
