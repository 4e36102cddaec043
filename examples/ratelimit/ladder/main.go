package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/rawfile"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// Exit statuses.
const (
	ok          = 0
	failed      = 1
	misused     = 2
	interrupted = 130
)

// connectTimeout bounds connecting and the first requests.
const connectTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	status := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// command is main with its surroundings as arguments. It returns the exit status.
func command(ctx context.Context, args []string, out, errs io.Writer) int {
	s, err := parse(args, errs)
	status := misused
	if err == nil {
		status, err = failed, s.run(ctx, out, errs)
	}
	switch {
	case errors.Is(err, flags.ErrHelp):
		return ok
	case err != nil:
		say(errs, "ladder: %v\n", err)
	}
	switch {
	case ctx.Err() != nil:
		return interrupted
	case err != nil:
		return status
	}
	return ok
}

// run measures and writes what was asked for. All that it has opened is closed when
// it returns.
func (s *settings) run(ctx context.Context, out, errs io.Writer) (err error) {
	if s.Rewrite != "" {
		return evidence.Rewrite(out, s.Rewrite, "ladder", report.Table, nil)
	}
	r := report.New(s.all) // before the raw file is there
	target, used := s.Target, (*stand)(nil).used
	if s.Service != "" {
		stand, addr, startErr := build(ctx, s.Service, errs)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, stand.close()) }()
		target, used = addr, stand.used
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	client, err := load.Dial(connecting, target, s.Connections, load.Requests(s.Domain, s.Descriptors, s.Keys))
	cancel()
	if err != nil {
		return err
	}
	defer client.Close()
	return s.measure(ctx, ladder{settings: s, send: client.Send, used: used, progress: errs, report: r}, out)
}

// measure runs the ladder and writes what was asked for. Files are opened before, so that a name which
// cannot be written to is known at once.
func (s *settings) measure(ctx context.Context, l ladder, out io.Writer) (err error) {
	if l.raw, err = rawfile.Create(s.Raw); err != nil {
		return err
	}
	var plot *os.File
	if s.Plot != "" {
		if plot, err = os.Create(s.Plot); err != nil {
			return errors.Join(fmt.Errorf("--plot: %w", err), l.raw.Close())
		}
	}
	l.run(ctx)
	err = errors.Join(l.report.WriteTable(out), l.raw.Close())
	if plot != nil {
		err = errors.Join(err, l.report.WritePlot(plot), plot.Close())
	}
	return err
}

// A ladder is one use of the command.
type ladder struct {
	*settings
	send     func(ctx context.Context, key int) (denied bool, err error)
	used     func() map[string]time.Duration // see [load.Step]
	progress io.Writer
	report   *report.Report
	raw      *rawfile.Writer // keeps its first error for Close
}

// run runs one step after the other, until the plan has no more or the context
// ends.
func (l *ladder) run(ctx context.Context) {
	_ = l.raw.Write(report.Line{Start: &l.report.Start})
	draw := load.Keys(l.Keys, l.Zipf, l.Seed)
	for n := 1; ctx.Err() == nil; n++ {
		rate, more := l.Plan.Next(l.report.Steps)
		if !more {
			break
		}
		if n > 1 {
			select {
			case <-time.After(l.Pause):
			case <-ctx.Done():
				continue
			}
		}
		say(l.progress, "step %d: %d requests a second for %v\n", n, rate, l.WarmUp+l.For)
		step := load.Step{
			Rate: rate, WarmUp: l.WarmUp, For: l.For, Outstanding: l.Outstanding, Timeout: l.Timeout, Key: draw, Send: l.send, Used: l.used,
		}
		measured := verdict.Of(rate, step.Run(ctx))
		if measured.Verdict == verdict.Interrupted && measured.Successes+measured.Failures == 0 {
			break
		}
		l.report.Add(measured)
		say(l.progress, "step %d: %s: %.0f/s answered, %d failed, P99 %v\n", n, measured.Verdict, measured.Actual, measured.Failures, measured.Latency.P99.Round(10*time.Microsecond))
		_ = l.raw.Write(report.Line{Step: &measured})
	}
	if l.report.Interrupted = ctx.Err() != nil; !l.report.Interrupted {
		now := time.Now().UTC().Truncate(time.Second)
		_ = l.raw.Write(report.Line{End: &now})
	}
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
