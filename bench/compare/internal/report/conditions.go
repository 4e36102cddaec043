package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// conditions are settings of a load without which figures say little.
var conditions = []struct {
	key  string
	text func(l settings.Load) string // empty: not worth a word
}{
	{"callers", func(l settings.Load) string {
		if len(l.Steps) > 0 {
			return ""
		}
		return fmt.Sprintf("%d callers", l.Callers)
	}},
	{"keys_per_request", func(l settings.Load) string {
		if l.KeysPerRequest == 0 {
			return ""
		}
		return fmt.Sprintf("%d keys a request", l.KeysPerRequest)
	}},
	{"rate", func(l settings.Load) string {
		if l.Rate == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f requests a second", l.Rate)
	}},
	{"round_trip", func(l settings.Load) string {
		if l.RoundTrip.Duration == 0 && l.HasNetwork() {
			return "round trip of loopback"
		}
		if l.RoundTrip.Duration == 0 {
			return "loopback"
		}
		return fmt.Sprintf("round trip +%v", l.RoundTrip)
	}},
}

// Conditions says under which load and over which network all endpoints of the run
// were measured, without what its name says.
func (run *Run) Conditions(besides ...string) string {
	if len(run.Endpoints) == 0 {
		return ""
	}
	var parts []string
	for _, c := range conditions {
		text := c.text(run.Endpoints[0].load)
		differs := func(e *Endpoint) bool { return c.text(e.load) != text }
		named := func(v settings.Value) bool { return v.Key == c.key }
		if text == "" || slices.Contains(besides, c.key) || slices.ContainsFunc(run.Varied, named) || slices.ContainsFunc(run.Endpoints, differs) {
			continue
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Title is the run's name and its conditions.
func (run *Run) Title() string {
	if c := run.Conditions(); c != "" {
		return run.Name + " (" + c + ")"
	}
	return run.Name
}
