package wire

import (
	"errors"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// NameCommand adds the command's name and the server's address to an error that says what
// became of a command, unless they are there. Any other error stays as it is.
func NameCommand(err error, encoded []byte, addr string) error {
	var named *redislanes.CommandError
	var said resp3.SimpleError
	var undecoded *redislanes.DecodeError
	var outcome *redislanes.OutcomeError
	if addr == "" && errors.As(err, &outcome) {
		addr = outcome.Addr
	}
	switch {
	case err == nil, errors.As(err, &named):
		return err
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrUnknownOutcome), errors.As(err, &said), errors.As(err, &undecoded):
		return &redislanes.CommandError{Command: strings.ToUpper(resp.CommandName(encoded)), Addr: addr, Err: err}
	}
	return err
}

// UnmarshalNamed is [Unmarshal] with the replies of a server to a request. Its error names
// the command whose reply could not be decoded, or is the first error, also where a
// radix.Pipeline keeps that to itself.
func UnmarshalNamed(request, replies []byte, into any, addr string) error {
	err := Unmarshal(replies, into)
	if err == nil {
		if i, _, said := failedIn(into); said {
			err = firstError(nthReply(resp.WithoutAttributes(replies), i))
		}
	}
	if err == nil {
		return nil // before undecoded, which is on the heap
	}
	i := 0
	var undecoded *redislanes.DecodeError
	if errors.As(err, &undecoded) {
		i = undecoded.Index
	} else {
		for reply, rest := resp.Cut(replies); reply != nil && !resp.IsError(reply); reply, rest = resp.Cut(rest) {
			i++
		}
	}
	return NameCommand(err, commandAt(request, i), addr)
}

// commandAt returns the i-th command of an encoded request.
func commandAt(request []byte, i int) []byte {
	for ; i > 0 && len(request) > 0; i-- {
		size := resp.CommandLen(request)
		if size == 0 {
			break
		}
		request = request[size:]
	}
	return request
}
