// Package report turns the results of a ladder into a table, a page with plots, and
// JSON.
package report

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/redislanes/redislanes/internal/machine"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A Report is everything that was measured.
type Report struct {
	Machine     machine.Machine `json:"machine"` // that of the driver
	Settings    []flags.Flag    `json:"settings"`
	Interrupted bool            `json:"interrupted"`
	Summary     verdict.Summary `json:"summary"`
	Steps       []verdict.Step  `json:"steps"` // by their targets
}

// New returns a report without steps.
func New(settings []flags.Flag) *Report {
	return &Report{Machine: machine.This(), Settings: settings, Steps: []verdict.Step{}}
}

// Add adds a step. One that was interrupted before anything was measured is left
// out.
func (r *Report) Add(target int, result *load.Result) {
	r.Interrupted = r.Interrupted || result.Interrupted
	if result.Requests() == 0 && result.Interrupted {
		return
	}
	r.Steps = append(r.Steps, verdict.Of(target, result))
	slices.SortStableFunc(r.Steps, func(a, b verdict.Step) int { return cmp.Compare(a.Target, b.Target) })
	r.Summary = verdict.Summarize(r.Steps)
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
