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

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
