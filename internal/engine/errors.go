package engine

import (
	"slices"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ resp3.SimpleError }

func (r refusal) Unwrap() []error { return []error{r.SimpleError, redislanes.ErrRefused} }

// replyError turns a server's error reply into a CommandError.
func replyError(command []byte, addr string, reply []byte) error {
	return &redislanes.CommandError{Command: commandName(command), Addr: addr, Err: saidError(reply)}
}

// saidError turns a server's error reply into an error.
func saidError(reply []byte) error {
	text := resp.ErrorText(reply)
	text = text[:min(len(text), maxErrorText)]
	said := resp3.SimpleError{S: resp.Redact(string(text))}
	if v := classify(text, "").verdict; v != final && v != noScript {
		return refusal{said}
	}
	return said
}

// maxErrorText is how much of an error reply is looked at: one byte more than
// Redact shows, so that it knows that there was more.
const maxErrorText = resp.MaxRedacted + 1

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
