package slots

import (
	"fmt"
	"net"
	"strconv"

	"github.com/redislanes/redislanes"
)

// A Skip is a row of what a server says of the cluster that cannot be used, and why.
// The other rows are used.
type Skip struct {
	Node        string // as far as the row tells
	Reason      string
	Primary     bool // its slots, first to last, have no owner because of it
	First, Last uint16
}

const (
	portZero     = "its port is 0: it speaks TLS only, set Config.Dialer.TLS (with TLS: it speaks plain TCP only)"
	oddLine      = "its line in CLUSTER NODES cannot be read: want 8 fields, the config epoch in the seventh"
	unusableHost = "its host is neither a name nor an IP address"
)

// unreadable says what was wanted in place of a value. The same row gives the same reason in
// every reply.
func unreadable(want string, got []byte) string {
	return fmt.Sprintf("its row cannot be read: want %s, got %s", want, shown(got))
}

// shown returns the beginning of a reply, or of a part of it.
func shown(reply []byte) string {
	if len(reply) == 0 {
		return "nothing"
	}
	return strconv.QuoteToASCII(string(reply[:min(len(reply), maxShown)]))
}

// nodeName describes a node by what its row tells.
func nodeName(host []byte, port int, id []byte) string {
	name := "without an address"
	if len(host) > 0 {
		name = Printable(net.JoinHostPort(string(host), strconv.Itoa(port)))
	}
	if len(id) > 0 {
		name += " (ID " + Printable(string(id)) + ")"
	}
	return name
}

// Printable returns what a server wrote for logs and errors.
func Printable(s string) string {
	q := strconv.QuoteToGraphic(s[:min(len(s), maxPrinted)])
	return q[1 : len(q)-1]
}

// NoOwnerError is why commands for the slot cannot be sent by the map; there may be no map.
func (m *Map) NoOwnerError(slot int32) error {
	if slot < 0 {
		return fmt.Errorf("no slot is served: %w: %w", redislanes.ErrNoOwner, redislanes.ErrNotSent)
	}
	if m != nil {
		for _, s := range m.Skips {
			if s.Primary && int32(s.First) <= slot && slot <= int32(s.Last) {
				return fmt.Errorf("slot %d: %w: its primary %s is left out of the map: %s: %w",
					slot, redislanes.ErrNoOwner, s.Node, s.Reason, redislanes.ErrNotSent)
			}
		}
	}
	return fmt.Errorf("slot %d: %w: %w", slot, redislanes.ErrNoOwner, redislanes.ErrNotSent)
}
