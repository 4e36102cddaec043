package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// ErrClosed says that the client was closed. It wraps lanes.ErrNotSent.
var ErrClosed = pool.ErrClosed

// ErrNoOwner is wrapped by the error of a command whose slot no node serves.
var ErrNoOwner = errors.New("no node serves the slot")

// ErrRefused marks commands that the server replied to with an error by which
// it says that it did not execute them and might do so later or elsewhere:
// MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, READONLY, NOREPLICAS.
// The client has sent them again for as long as its settings and the context
// allow; a [TroubleError] says how long that was.
var ErrRefused = errors.New("refused by the server")

// ErrOvertaken marks commands that were refused, and were not sent again because
// a later command of the same slot in the same request has run by then, or may
// have: they would have undone what it did. It comes with [ErrRefused], or with
// lanes.ErrUnknownOutcome for a command that may run twice.
var ErrOvertaken = errors.New("not sent again, since a later command of its slot has run")

// refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ resp3.SimpleError }

func (r refusal) Unwrap() []error { return []error{r.SimpleError, ErrRefused} }

// A CommandError says which command failed on which node. It never holds
// arguments. Err is, or wraps, resp3.SimpleError if the server replied with an
// error, and ErrRefused as well if the command was not executed; a
// lanes.DecodeError or the like if the reply is not of the type that was asked
// for; otherwise it wraps lanes.ErrNotSent or lanes.ErrUnknownOutcome.
type CommandError struct {
	Command string // its name, in capitals
	Addr    string // the node, host:port; may be empty if none was chosen
	Err     error
}

func (e *CommandError) Error() string {
	at := ""
	if e.Addr != "" {
		at = " on " + e.Addr
	}
	return fmt.Sprintf("cluster: %s%s: %v", e.Command, at, e.Err)
}

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }

// replyError turns a server's error reply into a CommandError.
func replyError(command []byte, addr string, reply []byte) error {
	return &CommandError{commandName(command), addr, saidError(reply)}
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
		text := strings.TrimPrefix(c.Err.Error(), c.Addr+": ")
		if addrs[text] == nil {
			texts = append(texts, text)
		}
		addrs[text] = append(addrs[text], c.Addr)
	}
	for i, text := range texts {
		texts[i] = strings.Join(addrs[text], ", ") + ": " + text
	}
	what := "no node answers"
	if slices.ContainsFunc(e.Causes, func(c AddrError) bool { return answered(c.Err) }) {
		what = "no node gives a map of the slots"
	}
	return "cluster: " + what + ": " + strings.Join(texts, "; ")
}

// answered tells whether the error is, or is about, what a server sent.
func answered(err error) bool {
	var greeting *lanes.HandshakeError
	var reply resp3.SimpleError
	var said *MapError
	return errors.As(err, &greeting) || errors.As(err, &reply) || errors.As(err, &said) || errors.Is(err, resp.ErrProtocol)
}

// withRest adds the addresses that have no cause yet.
func (e *UnreachableError) withRest(addrs []string, err error) *UnreachableError {
	for _, addr := range addrs {
		if !slices.ContainsFunc(e.Causes, func(c AddrError) bool { return c.Addr == addr }) {
			e.Causes = append(e.Causes, AddrError{addr, err})
		}
	}
	return e
}

// Unwrap returns the causes.
func (e *UnreachableError) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}
