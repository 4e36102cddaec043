package redislanes

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoOwner is wrapped by the error of a command whose slot no node serves. If the
// map of the slots names a primary for it that cannot be used, such as a node that speaks
// TLS only, the error says which one and why.
var ErrNoOwner = errors.New("no node serves the slot")

// ErrRefused marks commands that the server replied to with an error by which
// it says that it did not execute them and might do so later or elsewhere:
// MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, READONLY, NOREPLICAS, BUSY,
// UNBLOCKED by a failover, OOM, MISCONF.
// The client has sent them again for as long as its settings and the context
// allow; a [TroubleError] says how long that was. After OOM and MISCONF it has not: they
// do not pass within moments. A command that may have run before it was refused has
// [ErrUnknownOutcome] instead.
var ErrRefused = errors.New("refused by the server")

// ErrOvertaken marks commands that were refused, and were not sent again because
// a later command of the same slot in the same request has run by then, or may
// have: they would have undone what it did. It comes with [ErrRefused], or with
// ErrUnknownOutcome for a command that may run twice.
var ErrOvertaken = errors.New("not sent again, since a later command of its slot has run")

// A CommandError says which command failed on which node. It never prints
// arguments. If the server replied with an error, errors.As finds a
// resp3.SimpleError in Err, with the text as the server sent it, which may hold
// some; and Err wraps ErrRefused if the command was not executed. Err is a
// DecodeError or the like if the reply is not of the type that was asked
// for; otherwise it wraps ErrNotSent or ErrUnknownOutcome.
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
	name := e.Command
	if name == "" {
		name = "a command without a name"
	}
	why := strings.TrimPrefix(text(e.Err, e.Addr), e.Command+": ")
	return fmt.Sprintf(prefix+"%s%s: %s", name, at, why)
}

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }
