package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/rawfile"
)

// A line is one of three kinds, which have a field each.
type line struct {
	Start *start `json:"start,omitempty"` // the first line
	Turn  *turn  `json:"turn,omitempty"`
	End   *end   `json:"end,omitempty"`
}

type start struct {
	Format   int            `json:"format"`
	File     string         `json:"file"`
	Settings string         `json:"settings"` // the text of the file
	Machine  report.Machine `json:"machine"`
}

// A turn is what one endpoint did in one round.
type turn struct {
	Run      string         `json:"run"`
	Endpoint string         `json:"endpoint"`
	Phases   []*load.Result `json:"phases"`
}

type end struct {
	Redis       []string `json:"redis"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Failure     string   `json:"failure,omitempty"`
}

// turnOf is a line of one turn. Samples of the pools are left out where no figure is made of them.
func turnOf(run, endpoint string, phases []*load.Result) line {
	if len(phases) == 1 {
		short := *phases[0]
		short.Use.Samples = nil
		phases = []*load.Result{&short}
	}
	return line{Turn: &turn{run, endpoint, phases}}
}

// A reader makes a report of lines.
type reader struct {
	file   *settings.File
	report *report.Report
}

// readRaw makes the report from the lines of a raw file.
func readRaw(name string) (*report.Report, error) {
	r := &reader{}
	if err := rawfile.Read(name, r.add); err != nil {
		return nil, err
	}
	r.report.Finish()
	return r.report, nil
}

func (r *reader) add(l line) error {
	switch {
	case l.Start != nil:
		return r.start(l.Start)
	case l.Turn != nil:
		return r.turn(l.Turn)
	case l.End != nil:
		r.report.Machine.Redis, r.report.Interrupted, r.report.Failure = l.End.Redis, l.End.Interrupted, l.End.Failure
		return nil
	default:
		return errors.New("is of no kind that is known")
	}
}

func (r *reader) start(s *start) (err error) {
	if r.file, err = settings.Parse(filepath.Base(s.File), []byte(s.Settings)); err != nil {
		return err
	}
	r.file.Name = s.File
	r.report = report.New(r.file)
	r.report.Machine = s.Machine
	return nil
}

func (r *reader) turn(t *turn) error {
	i := slices.IndexFunc(r.file.Runs, func(run settings.Run) bool { return run.Name == t.Run })
	if i < 0 {
		return fmt.Errorf("the settings have no run %q", t.Run)
	}
	at := slices.IndexFunc(r.report.Runs, func(run *report.Run) bool { return run.Name == t.Run })
	if at < 0 {
		at = len(r.report.Runs)
		r.report.Begin(r.file.Runs[i])
	}
	for _, e := range r.report.Runs[at].Endpoints {
		if e.Name == t.Endpoint {
			e.Add(t.Phases)
			return nil
		}
	}
	return fmt.Errorf("the run %q has no endpoint %q", t.Run, t.Endpoint)
}
