package sim

import (
	"fmt"
	"log/slog"
	"time"
)

// A Line is one of the log.
type Line struct {
	At     time.Duration
	Level  slog.Level
	Text   string // the message
	Where  string // which server it is of, if of one
	Lasted time.Duration
}

const (
	lineSpacing = 4900 * time.Millisecond // between lines of which there is one for many events; a slow log is told later
	lasting     = time.Second             // of a trouble that is worth a line
)

// journal: the log has no line for each of many like events, and none for what is over
// in a moment.
func journal(h *History) string {
	type of struct{ text, where string }
	last := make(map[of][]time.Duration)
	for _, l := range h.Lines {
		most := 0
		switch {
		case l.Text == "trouble" && l.Lasted < lasting:
			return fmt.Sprintf("the log was told at %v of a trouble that had lasted for %v: %s", l.At, l.Lasted, l.Where)
		case l.Level < slog.LevelInfo:
		case l.Text == "slots moved", l.Text == "refresh failed":
			most = 1
		case l.Text == "dial failed":
			most = 12 // of several pools, and of those that come after them when a node leaves and comes back
		}
		if most == 0 {
			continue
		}
		at := of{l.Text, l.Where}
		r := append(last[at], l.At)
		for r[0] <= l.At-lineSpacing {
			r = r[1:]
		}
		if last[at] = r; len(r) > most {
			return fmt.Sprintf("the log has %d lines %q %s in %v until %v", len(r), l.Text, l.Where, lineSpacing, l.At)
		}
	}
	return ""
}
