package pipeline

import (
	"errors"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// overflows reports whether the server refused INCRBY because the sum would not
// fit, so that it has not run. (Redis' incrDecrCommand has this text.)
func overflows(err error) bool { return said(err, "increment or decrement would overflow") }

// knowsNoNX reports whether the server refused EXPIRE NX because it does not know
// NX: before Redis 7, EXPIRE had two arguments.
func knowsNoNX(err error) bool {
	return said(err, "ERR wrong number of arguments") || said(err, "ERR syntax error") || said(err, "ERR Unsupported option")
}

// mayComeTrue reports whether a command that failed may succeed if it is sent
// again: the server's last word has not been heard, and the client is open.
func mayComeTrue(err error) bool {
	var simple resp3.SimpleError
	switch {
	case err == nil, errors.Is(err, redislanes.ErrClosed):
		return false
	case errors.Is(err, redislanes.ErrRefused), refusedInScript(err):
		return true
	}
	return !errors.As(err, &simple)
}

// refusedInScript reports whether the server refused for now what a script of ours does
// last, and which is all that it changes. Such an error stands for other scripts, of which
// a part has run. Servers before Redis 7 have it in the midst of a text of their own.
func refusedInScript(err error) bool { return said(err, "NOREPLICAS ") || said(err, "READONLY ") }

// mayHaveRun reports whether a command with that error may have run: one that the server
// refused has not, but one has of which it could not be read what the server said.
func mayHaveRun(err error) bool {
	if err == nil {
		return true // without the allocation for simple
	}
	var simple resp3.SimpleError
	switch {
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		return true
	case errors.As(err, &simple):
		return resp.IsRefusal([]byte(simple.S))
	}
	return !errors.Is(err, redislanes.ErrNotSent)
}

// said reports whether the server replied with an error that holds the text.
func said(err error, text string) bool {
	if err == nil {
		return false // without the allocation for simple
	}
	var simple resp3.SimpleError
	return errors.As(err, &simple) && strings.Contains(simple.S, text)
}
