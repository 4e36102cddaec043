package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/table"
)

// conditions are settings of a load without which figures say little, in the order in which they
// are said.
func conditions(l settings.Load) (keys, texts []string) {
	add := func(worthAWord bool, key, format string, args ...any) {
		if worthAWord {
			keys, texts = append(keys, key), append(texts, fmt.Sprintf(format, args...))
		}
	}
	add(len(l.Steps) == 0, "callers", "%d callers", l.Callers)
	add(l.KeysPerRequest > 0, "keys_per_request", "%d keys a request", l.KeysPerRequest)
	add(l.Rate > 0, "rate", "%.0f requests a second", l.Rate)
	add(l.RoundTrip.Duration > 0, "round_trip", "round trip +%v", l.RoundTrip)
	add(l.Bandwidth > 0, "bandwidth", "%s/s of a connection", table.Bytes(float64(l.Bandwidth)))
	add(!l.HasNetwork(), "round_trip", "loopback")
	return keys, texts
}

// Conditions says under which load and over which network all endpoints of the run
// were measured, without what its name says.
func (run *Run) Conditions(besides ...string) string {
	if len(run.Endpoints) == 0 {
		return ""
	}
	var parts []string
	keys, texts := conditions(run.Endpoints[0].load)
	for i, text := range texts {
		differs := func(e *Endpoint) bool {
			_, others := conditions(e.load)
			return !slices.Contains(others, text)
		}
		named := func(v settings.Value) bool { return v.Key == keys[i] }
		if !slices.Contains(besides, keys[i]) && !slices.ContainsFunc(run.Varied, named) && !slices.ContainsFunc(run.Endpoints, differs) {
			parts = append(parts, text)
		}
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
