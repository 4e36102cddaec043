package sim

import (
	"errors"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"
)

// isTooMuch reports whether the error stands for a reply that was larger than the
// limits allow, of a command that has run.
func isTooMuch(err error) bool {
	var said resp3.SimpleError
	return errors.As(err, &said) && (strings.HasPrefix(said.S, "TOODEEP ") || strings.HasPrefix(said.S, "TOOMANY "))
}
