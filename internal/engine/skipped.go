package engine

import (
	"log/slog"

	"github.com/redislanes/redislanes/internal/slots"
)

// maxTold bounds the skipped rows that are remembered: a server may invent them.
const maxTold = 1024

// logSkips tells the log of rows that are skipped, once of each node and reason. Refreshes
// run one at a time.
func (c *Client) logSkips(by string, skips []slots.Skip) {
	for _, s := range skips {
		what := slots.Skip{Node: s.Node, Reason: s.Reason}
		if c.skipped[what] || len(c.skipped) >= maxTold {
			continue
		}
		c.skipped[what] = true
		c.journal.Note(slog.LevelWarn, "a node is left out of the map of the slots", "node", s.Node, "reason", s.Reason, "told_by", by)
	}
}
