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

	"github.com/redislanes/redislanes/redistest"

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
func (s *settings) run(ctx context.Context, out, errs io.Writer) error {
	addr := s.Target
	if s.Latency > 0 {
		proxy, err := redistest.LaunchProxy(addr)
		if err != nil {
			return fmt.Errorf("--latency: %w", err)
		}
		defer proxy.Close()
		proxy.Delay(redistest.ToServer, s.Latency/2)
		proxy.Delay(redistest.ToClient, s.Latency/2)
		addr = proxy.Addr()
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	client, err := load.Dial(connecting, s.Target, addr, s.Connections, load.Requests(s.Domain, s.Descriptors, s.Keys))
	cancel()
	if err != nil {
		return err
	}
	defer client.Close()
	figures, err := create("json", s.JSON)
	if err != nil {
		return err
	}
	defer figures.Close() // again, after write
	page, err := create("report", s.Page)
	if err != nil {
		return err
	}
	defer page.Close()

	l := ladder{settings: s, send: client.Send, progress: errs, report: report.New(s.all)}
	l.run(ctx)
	return errors.Join(l.report.WriteTable(out), write("json", figures, l.report.WriteJSON), write("report", page, l.report.WriteHTML))
}

// create opens a file before anything is measured, so that a name which cannot be written to
// is known at once. The file keeps what it holds until write. Without a name there is none.
func create(flag, name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return file, nil
}

func write(flag string, file *os.File, content func(io.Writer) error) error {
	if file == nil {
		return nil
	}
	_ = file.Truncate(0) // pipes and devices have nothing to truncate
	if err := errors.Join(content(file), file.Close()); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
