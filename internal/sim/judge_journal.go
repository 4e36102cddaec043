package sim

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
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

// journal: the log has no line for each of many like events, none for what is over
// in a moment, and one for what lasts.
func journal(h *History) string { return cmp.Or(manyLines(h), untold(h)) }

func manyLines(h *History) string {
	type of struct{ text, where string }
	last := make(map[of][]time.Duration)
	for _, l := range h.Lines {
		most := 0
		switch {
		case l.Text == "outage" && l.Lasted < lasting:
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

// untold: when commands have been refused for long because of single slots, the log says
// so, and whether it is for want of an owner or because keys are on their way.
func untold(h *History) string {
	if !h.Terms.Logs {
		return ""
	}
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		var failed *redislanes.Error
		var t *cause.Tried
		var said resp3.SimpleError
		if !errors.As(cmd.Err, &failed) || !errors.As(cmd.Err, &t) || !errors.As(cmd.Err, &said) || t.For < 2*lasting || h.only(c) == nil || h.closedBy(c.Ended) {
			return ""
		}
		where := ""
		switch {
		case strings.HasPrefix(said.S, "TRYAGAIN "):
			where = "keys of slots that move"
		case said.S == "CLUSTERDOWN Hash slot not served":
			where = "slots"
		}
		if where == "" || h.logs(where, failed.Since.Sub(h.Start), c.Ended) {
			return ""
		}
		return fmt.Sprintf("%s: the log says nothing of %s: %v", c.of(i), where, cmd.Err)
	})
}

// logs reports whether the log says of a trouble at the place that began in that time, or
// of one before that was not over.
func (h *History) logs(where string, since, until time.Duration) (told bool) {
	for _, l := range h.Lines {
		switch {
		case l.At > until:
			return told
		case l.Where != where:
		case l.Text == "outage":
			if told = true; l.At >= since {
				return true
			}
		case l.At < since:
			told = false
		}
	}
	return told
}
