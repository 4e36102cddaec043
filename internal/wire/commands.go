package wire

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

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
