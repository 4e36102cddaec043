package cause

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// An Unreachable says that none of the addresses answered, or gave a map of
// the slots that can be used, and why.
type Unreachable struct {
	Causes []OfAddr
}

// An OfAddr is what went wrong with one address.
type OfAddr struct {
	Addr string
	Err  error
}

// Error lists each address with its cause; addresses with the same cause, such
// as a wrong password, share it.
func (e *Unreachable) Error() string {
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
	if slices.ContainsFunc(e.Causes, OfAddr.answered) {
		what = "no node gives a map of the slots"
	}
	return "redislanes: " + what + ": " + strings.Join(texts, "; ")
}

// answered tells whether the error is, or is about, what a server sent.
func (e OfAddr) answered() bool {
	var greeting *redislanes.HandshakeError
	var flaw *Map
	_, said := SaidIn(e.Err)
	return errors.As(e.Err, &greeting) || said || errors.As(e.Err, &flaw) || errors.Is(e.Err, resp.ErrProtocol)
}

// Unwrap returns the causes.
func (e *Unreachable) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}

// A Map says why a server's map of the slots is not used.
type Map struct {
	Addr   string
	Reason string
}

func (e *Map) Error() string {
	return fmt.Sprintf("%s: its map of the slots is not used: %s", e.Addr, e.Reason)
}
