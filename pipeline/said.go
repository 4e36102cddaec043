package pipeline

import (
	"errors"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"
)

// overflows reports whether the server refused INCRBY because the sum would not
// fit, so that it has not run. (Redis' incrDecrCommand has this text.)
func overflows(err error) bool { return said(err, "increment or decrement would overflow") }

// knowsNoNX reports whether the server refused EXPIRE NX because it does not know
// NX: before Redis 7, EXPIRE had two arguments.
func knowsNoNX(err error) bool {
	return said(err, "ERR wrong number of arguments") || said(err, "ERR syntax error") || said(err, "ERR Unsupported option")
}

// said reports whether the server replied with an error that holds the text.
func said(err error, text string) bool {
	if err == nil {
		return false // without the allocation for simple
	}
	var simple resp3.SimpleError
	return errors.As(err, &simple) && strings.Contains(simple.S, text)
}
