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

// readRaw makes the report from the lines of a raw file.
func readRaw(name string) (*report.Report, error) {
	var r *report.Report
	err := rawfile.Read(name, func(l line) (err error) {
		switch {
		case l.Start != nil:
			r, err = l.Start.report()
		case l.Turn != nil:
			err = l.Turn.addTo(r)
		case l.End != nil:
			r.Machine.Redis, r.Interrupted, r.Failure = l.End.Redis, l.End.Interrupted, l.End.Failure
		default:
			err = errors.New("is of no kind that is known")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Finish()
	return r, nil
}

// report is one in which nothing was measured yet.
func (s *start) report() (*report.Report, error) {
	file, err := settings.Parse(filepath.Base(s.File), []byte(s.Settings))
	if err != nil {
		return nil, err
	}
	file.Name = s.File
	r := report.New(file)
	r.Machine = s.Machine
	for _, run := range file.Runs {
		r.Begin(run)
	}
	return r, nil
}

func (t *turn) addTo(r *report.Report) error {
	i := slices.IndexFunc(r.Runs, func(run *report.Run) bool { return run.Name == t.Run })
	if i < 0 {
		return fmt.Errorf("the settings have no run %q", t.Run)
	}
	for _, e := range r.Runs[i].Endpoints {
		if e.Name == t.Endpoint {
			e.Add(t.Phases)
			return nil
		}
	}
	return fmt.Errorf("the run %q has no endpoint %q", t.Run, t.Endpoint)
}
