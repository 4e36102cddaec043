package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/rawfile"
	"github.com/redislanes/redislanes/bench/table"
)

// A comparison is one use of the command.
type comparison struct {
	file     *settings.File
	report   *report.Report
	progress io.Writer
	targets  *load.Targets
	out      *rawfile.Writer // Close returns its first error
	left     time.Duration   // of the turns to come
	stopped  error           // what went wrong while stopping the servers
}

// run measures all runs, or what it can until the context ends or something
// fails. Whatever it started is stopped when it returns.
func (c *comparison) run(ctx context.Context) error {
	c.targets = load.NewTargets(c.progress)
	c.report.Machine.Given = c.targets.Given()
	_ = c.out.Write(line{Start: &start{rawfile.Format, c.file.Name, string(c.file.Text), c.report.Machine}})
	defer func() {
		c.report.Machine.Redis = c.targets.RedisVersions()
		c.stopped = c.targets.Close()
	}()
	for i, r := range c.file.Runs {
		if err := c.measure(ctx, i, r); err != nil {
			return fmt.Errorf("run %q: %w", r.Name, err)
		}
	}
	return nil
}

// end ends the raw file.
func (c *comparison) end() error {
	_ = c.out.Write(line{End: &end{c.report.Machine.Redis, c.report.Interrupted, c.report.Failure}})
	return c.out.Close()
}

// measure opens the endpoints of a run and gives each its turn in each round, so
// that what the machine does meanwhile meets all of them.
func (c *comparison) measure(ctx context.Context, i int, r settings.Run) error {
	to := c.report.Begin(r)
	var endpoints []*load.Endpoint
	defer func() {
		for _, e := range endpoints {
			_ = e.Close()
		}
	}()
	for _, s := range r.Endpoints {
		e, err := c.targets.Open(ctx, s.Load)
		if err != nil {
			return fmt.Errorf("endpoint %q: %w", s.Name, err)
		}
		endpoints = append(endpoints, e)
	}
	for round := range r.Rounds {
		for j, e := range endpoints {
			s := r.Endpoints[j]
			table.Print(c.progress, "run %d of %d (%s), round %d of %d: %s, %v left\n", i+1, len(c.file.Runs), r.Name, round+1, r.Rounds, s.Name,
				c.left.Round(time.Second))
			c.left -= s.Load.Took()
			if err := e.WarmUp(ctx); err != nil {
				return err
			}
			phases := e.Measure(ctx)
			to.Endpoints[j].Add(phases)
			_ = c.out.Write(turnOf(r.Name, s.Name, phases))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

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
