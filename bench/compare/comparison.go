package main

import (
	"context"
	"fmt"
	"io"
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
	out      *rawfile.Writer // whose first error is that of Close
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
