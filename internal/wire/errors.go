package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// ErrClosed is the cause when a lane was closed on this side. It wraps
// [redislanes.ErrNotSent], since nothing can be sent over a closed lane.
var ErrClosed = fmt.Errorf("lane closed: %w", redislanes.ErrNotSent)

// NotSent returns err as the cause of a command's not being sent to addr. An
// error that says so already is returned as it is.
func NotSent(addr string, err error) error {
	var known *redislanes.Error
	if errors.As(err, &known) && errors.Is(known.Outcome, redislanes.ErrNotSent) {
		return err
	}
	return &redislanes.Error{Addr: addr, Outcome: redislanes.ErrNotSent, Cause: err}
}

// Unknown returns err as the cause of a command's unknown outcome.
func Unknown(addr string, err error) *redislanes.Error {
	return &redislanes.Error{Addr: addr, Outcome: redislanes.ErrUnknownOutcome, Cause: err}
}

// Named returns err as the error of the command with that name on that node. It is a copy of
// its own.
func Named(command, addr string, err error) *redislanes.Error {
	if known := Top(err); known != nil {
		named := *known
		if named.Command = command; addr != "" && named.Addr != addr {
			if named.Addr != "" {
				named.Cause = fmt.Errorf("%s: %w", named.Addr, named.Cause)
			}
			named.Addr = addr
		}
		return &named
	}
	return &redislanes.Error{Command: command, Addr: addr, Outcome: outcomeOf(err), Cause: err}
}

// Top returns the redislanes.Error that err is; nil if it is none or wraps one with a text
// of its own.
func Top(err error) *redislanes.Error {
	known, _ := err.(*redislanes.Error) //nolint:errorlint // what wraps one has a text of its own
	return known
}

func outcomeOf(err error) error {
	for _, outcome := range []error{redislanes.ErrUnknownOutcome, redislanes.ErrNotSent, redislanes.ErrRefused} {
		if errors.Is(err, outcome) {
			return outcome
		}
	}
	return nil
}

// NameCommand adds the command's name and the server's address to an error that says what
// became of a command, unless they are there. Any other error stays as it is.
func NameCommand(err error, encoded []byte, addr string) error {
	var known *redislanes.Error
	_, said := cause.SaidIn(err)
	if errors.As(err, &known) && addr == "" {
		addr = known.Addr
	}
	switch {
	case err == nil, known != nil && known.Command != "":
		return err
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrUnknownOutcome), said, errors.Is(err, redislanes.ErrDecode):
		return Named(strings.ToUpper(resp.CommandName(encoded)), addr, err)
	}
	return err
}

// ReplyError returns the error of a server's error reply. It wraps [redislanes.ErrRefused] if the
// server did not run the command.
func ReplyError(reply []byte) error {
	text := resp.ErrorText(reply)
	said := cause.Said(text)
	if fate.Of(text).Refused() {
		return refusal{said}
	}
	return said
}

// IsRefusal reports whether the server says that it did not run a command, and that it, or another
// one, might.
func IsRefusal(reply []byte) bool {
	return resp.IsError(reply) && fate.Of(resp.ErrorText(reply)).Refused()
}

// A refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ *cause.SaidError }

func (r refusal) Unwrap() []error { return []error{r.SaidError, redislanes.ErrRefused} }

// errorCodes are what error replies are counted by: the first words of their texts,
// from errors that all commands may get. It is a fixed list, so that no server adds to
// it. The last one stands for all others.
var errorCodes = [...]string{
	"ASK", "BUSY", "CLUSTERDOWN", "CROSSSLOT", "ERR", "EXECABORT", "LOADING", "MASTERDOWN", "MISCONF", "MOVED",
	"NOAUTH", "NOPERM", "NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN", "WRONGTYPE", "other",
}

const otherErrors = len(errorCodes) - 1

// ErrorCodes returns what error replies are counted by.
func ErrorCodes() []string { return append([]string(nil), errorCodes[:]...) }

// ErrorCode returns what an error reply of the text is counted by. It does not
// allocate.
func ErrorCode(text []byte) string { return errorCodes[codeIndex(text)] }

func codeIndex(text []byte) int {
	code, _, _ := bytes.Cut(text, []byte(" "))
	if i := slices.IndexFunc(errorCodes[:], func(c string) bool { return c == string(code) }); i >= 0 {
		return i
	}
	return otherErrors
}

// An ErrorCount counts error replies by their code, of all lanes of an [Owner]. It leaves out
// those to uncounted batches, and those that nobody waits for any more. The zero value is ready to use; its methods are safe for
// concurrent use.
type ErrorCount struct {
	of [len(errorCodes)]atomic.Uint64
}

// ByCode returns how many errors there were of each code, without the codes that had none.
func (c *ErrorCount) ByCode() map[string]uint64 {
	counts := make(map[string]uint64)
	for i := range c.of {
		if n := c.of[i].Load(); n > 0 {
			counts[errorCodes[i]] = n
		}
	}
	return counts
}

// add counts the error replies of a batch that is about to be complete.
func (c *ErrorCount) add(b *Batch) {
	for i := range b.replies {
		reply, _ := b.Reply(i)
		if resp.IsError(reply) {
			c.of[codeIndex(resp.ErrorText(reply))].Add(1)
		}
	}
}

// Commands calls each with the bounds of every command of an encoded request
// and returns their number.
func Commands(request []byte, each func(from, to int)) (n int, err error) {
	for from := 0; from < len(request); n++ {
		size := resp.CommandLen(request[from:])
		if size == 0 {
			return n, errNotACommand
		}
		each(from, from+size)
		from += size
	}
	return n, nil
}

// NotShared returns the refusal of a command that does not travel on a connection of others. It
// is otherwise, unless the command needs more than a dedicated connection.
func NotShared(c command.Command, otherwise error) error {
	switch c.Effect() {
	case command.Awaits:
		return cause.ErrNoWrites
	case command.Unanswered:
		return cause.ErrUnanswered
	}
	return otherwise
}

var (
	errNoName    = fmt.Errorf("a command without a name: it needs one: %w", redislanes.ErrNotSent)
	errBlankName = fmt.Errorf("the command's name has a blank in it, pass the arguments separately: %w", redislanes.ErrNotSent)
)

// CheckName returns an error for a name that no command has.
func CheckName(c command.Command) error {
	switch name := c.Name(); {
	case c.Known():
	case name == "":
		return errNoName
	case strings.ContainsFunc(name, unicode.IsSpace):
		return Named(name, "", errBlankName)
	}
	return nil
}
