package redislanes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/resp"
)

// ErrNotMember says that the server at a node's address is not that node: it is
// none of a cluster, one of another cluster, or another node of this one, as the old
// primary is behind a name that has not followed a failover yet. Nothing is sent to it,
// since it would answer from other data; commands fail with ErrDown, which wraps
// this, until the address leads to the node again or the map of the slots names
// another one.
var ErrNotMember = errors.New("not a node of this cluster")

// An UnreachableError says that none of the addresses answered, or gave a map of
// the slots that can be used, and why.
type UnreachableError struct {
	Causes []AddrError
}

// An AddrError is what went wrong with one address.
type AddrError struct {
	Addr string
	Err  error
}

// Error lists each address with its cause; addresses with the same cause, such
// as a wrong password, share it.
func (e *UnreachableError) Error() string {
	var texts []string
	addrs := make(map[string][]string)
	for _, c := range e.Causes {
		text := text(c.Err, c.Addr)
		if addrs[text] == nil {
			texts = append(texts, text)
		}
		addrs[text] = append(addrs[text], c.Addr)
	}
	for i, text := range texts {
		texts[i] = strings.Join(addrs[text], ", ") + ": " + text
	}
	what := "no node answers"
	if slices.ContainsFunc(e.Causes, AddrError.answered) {
		what = "no node gives a map of the slots"
	}
	return prefix + what + ": " + strings.Join(texts, "; ")
}

// answered tells whether the error is, or is about, what a server sent.
func (e AddrError) answered() bool {
	var greeting *HandshakeError
	var reply resp3.SimpleError
	var said *MapError
	return errors.As(e.Err, &greeting) || errors.As(e.Err, &reply) || errors.As(e.Err, &said) || errors.Is(e.Err, resp.ErrProtocol)
}

// Unwrap returns the causes.
func (e *UnreachableError) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}

// A MapError says why a server's map of the slots is not used.
type MapError struct {
	Addr   string
	Reason string
}

func (e *MapError) Error() string {
	return fmt.Sprintf("%s: its map of the slots is not used: %s", e.Addr, e.Reason)
}
