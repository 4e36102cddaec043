package engine

import (
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ *wire.SaidError }

func (r refusal) Unwrap() []error { return []error{r.SaidError, redislanes.ErrRefused} }

// replyError turns a server's error reply into a CommandError.
func replyError(command []byte, addr string, reply []byte) error {
	return &redislanes.CommandError{Command: commandName(command), Addr: addr, Err: saidError(reply)}
}

// saidError turns a server's error reply into an error.
func saidError(reply []byte) error {
	text := resp.ErrorText(reply)
	said := wire.Said(text)
	if v := classify(text, "").verdict; v != final && v != noScript {
		return refusal{said}
	}
	return said
}

func commandName(command []byte) string {
	return strings.ToUpper(resp.CommandName(command))
}

// withRest adds the addresses that have no cause yet.
func withRest(e *redislanes.UnreachableError, addrs []string, err error) *redislanes.UnreachableError {
	for _, addr := range addrs {
		if !slices.ContainsFunc(e.Causes, func(c redislanes.AddrError) bool { return c.Addr == addr }) {
			e.Causes = append(e.Causes, redislanes.AddrError{Addr: addr, Err: err})
		}
	}
	return e
}
