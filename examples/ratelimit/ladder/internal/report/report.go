// Package report turns the results of a ladder into tables, a plot, and a raw file.
package report

import (
	"time"

	"github.com/redislanes/redislanes/bench/rawfile"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A Report is everything that was measured.
type Report struct {
	Start
	Interrupted bool
	Summary     verdict.Summary
	Steps       []verdict.Step // by rising targets
}

// A Line of a raw file is one of these kinds.
type Line struct {
	Start *Start        `json:"start,omitempty"` // the first line
	Step  *verdict.Step `json:"step,omitempty"`
	End   *time.Time    `json:"end,omitempty"` // the last line; not of a ladder that was interrupted
}

// A Start says where and how a ladder was run.
type Start struct {
	rawfile.Start              // of the driver
	Settings      []flags.Flag `json:"settings"`
}

// New returns a report without steps.
func New(settings []flags.Flag) *Report { return &Report{Start: Start{rawfile.NewStart(), settings}} }

// Read returns what a raw file has.
func Read(name string) (*Report, error) {
	r := new(Report)
	return r, rawfile.Read(name, func(l Line) error {
		switch {
		case l.Start != nil:
			r.Start = *l.Start
		case l.Step != nil:
			r.Add(*l.Step)
		}
		return nil
	})
}

// Add adds a step above the others.
func (r *Report) Add(s verdict.Step) {
	r.Steps = append(r.Steps, s)
	r.Summary = verdict.Summarize(r.Steps)
}

// setting returns the value of a flag.
func (r *Report) setting(name string) string {
	for _, f := range r.Settings {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}
