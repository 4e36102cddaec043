package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"
)

// parting is how long a client may take to close a connection on which the server
// has broken the protocol.
const parting = 300 * time.Millisecond

// protocol: no reply is believed that breaks the protocol or is larger than the limits
// allow, and a connection on which the protocol was broken is closed at once.
func protocol(h *History) string {
	for _, b := range h.Broken {
		if most := h.Terms.RoundTrip + parting; b.To-b.From > most && !h.slowed(b) && !h.Terms.Stubborn {
			return fmt.Sprintf("a server broke the protocol at %v, and its connection was kept until %v", b.From, b.To)
		}
	}
	return h.each(func(c *Call, i int) string {
		if cmd := &c.Commands[i]; cmd.Writes && !cmd.Twice && cmd.Outcome == Acked && h.Beyond[cmd.Text] {
			return fmt.Sprintf("%s: replied %q, but the server's reply could not be believed", c.of(i), short(cmd.Reply))
		}
		return ""
	})
}

// slowed reports whether another fault may have kept the connection.
func (h *History) slowed(b Span) bool {
	about := 0
	for _, f := range h.Faults {
		if f.overlaps(b.From-2*healing, b.To) {
			about++
		}
	}
	return about > 1
}

// isTooMuch reports whether the error stands for a reply that was larger than the
// limits allow, of a command that has run.
func isTooMuch(err error) bool {
	var said resp3.SimpleError
	return errors.As(err, &said) && (strings.HasPrefix(said.S, "TOODEEP ") || strings.HasPrefix(said.S, "TOOMANY "))
}
