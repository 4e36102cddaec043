package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/redislanes/redislanes"
)

// A skip is a row of what a server says of the cluster that cannot be used, and why.
// The other rows are used.
type skip struct {
	node        string // as far as the row tells
	reason      string
	primary     bool // its slots, first to last, have no owner because of it
	first, last uint16
}

const (
	portZero     = "its port is 0: it speaks TLS only, set Config.Dialer.TLS (with TLS: it speaks plain TCP only)"
	oddLine      = "its line in CLUSTER NODES cannot be read: want 8 fields, the config epoch in the seventh"
	unusableHost = "its host is neither a name nor an IP address"
	maxTold      = 1024 // skipped rows that are remembered, since a server may invent them
	maxNodeName  = 100
)

// reasonOf is without the offset of the error, which differs from reply to reply.
func reasonOf(err error) string {
	var wrong *malformed
	if errors.As(err, &wrong) {
		return fmt.Sprintf("its row cannot be read: want %s, got %s", wrong.want, wrong.got)
	}
	return err.Error()
}

// nodeName describes a node by what its row tells.
func nodeName(host []byte, port int, id []byte) string {
	name := "without an address"
	if len(host) > 0 {
		name = plain(net.JoinHostPort(string(host), strconv.Itoa(port)))
	}
	if len(id) > 0 {
		name += " (ID " + plain(string(id)) + ")"
	}
	return name
}

// plain returns what a server wrote for logs and errors.
func plain(s string) string {
	q := strconv.QuoteToGraphic(s[:min(len(s), maxNodeName)])
	return q[1 : len(q)-1]
}

// logSkips tells the log of rows that are skipped, once of each node and reason. Refreshes
// run one at a time.
func (c *Client) logSkips(by string, skips []skip) {
	for _, s := range skips {
		what := skip{node: s.node, reason: s.reason}
		if c.skipped[what] || len(c.skipped) >= maxTold {
			continue
		}
		c.skipped[what] = true
		c.journal.Note(slog.LevelWarn, "a node is left out of the map of the slots", "node", s.node, "reason", s.reason, "told_by", by)
	}
}

// noOwnerError is why commands for the slot cannot be sent.
func (t *topology) noOwnerError(slot int32) error {
	if slot < 0 {
		return fmt.Errorf("no slot is served: %w: %w", redislanes.ErrNoOwner, redislanes.ErrNotSent)
	}
	if t.view != nil {
		for _, s := range t.view.skips {
			if s.primary && int32(s.first) <= slot && slot <= int32(s.last) {
				return fmt.Errorf("slot %d: %w: its primary %s is left out of the map: %s: %w",
					slot, redislanes.ErrNoOwner, s.node, s.reason, redislanes.ErrNotSent)
			}
		}
	}
	return fmt.Errorf("slot %d: %w: %w", slot, redislanes.ErrNoOwner, redislanes.ErrNotSent)
}
