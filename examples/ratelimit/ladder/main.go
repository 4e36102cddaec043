package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/redistest"

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
	ctx, stop := signalled()
	status := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// signalled returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once.
func signalled() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals) // before the context ends, so that a second signal is not lost
		cancel()
	}()
	return ctx, cancel
}

// command is main with its surroundings as arguments. It returns the exit status.
func command(ctx context.Context, args []string, out, errs io.Writer) int {
	s, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ok
	case err != nil:
		say(errs, "ladder: %v\n", err)
		return misused
	}
	err = s.run(ctx, out, errs)
	if err != nil {
		say(errs, "ladder: %v\n", err)
	}
	switch {
	case ctx.Err() != nil:
		return interrupted
	case err != nil:
		return failed
	}
	return ok
}

// run measures and writes what was asked for. All that it has opened is closed when
// it returns.
func (s *settings) run(ctx context.Context, out, errs io.Writer) error {
	addr := s.target
	if s.latency > 0 {
		proxy, err := delayed(addr, s.latency)
		if err != nil {
			return err
		}
		defer proxy.Close()
		addr = proxy.Addr()
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	client, err := load.Dial(connecting, s.target, addr, s.connections, load.Requests(s.domain, s.descriptors, s.keys))
	cancel()
	if err != nil {
		return err
	}
	defer client.Close()
	files, err := s.create()
	if err != nil {
		return err
	}

	l := ladder{settings: s, send: client.Send, progress: newProgress(errs), report: report.New(s.flags)}
	l.run(ctx)
	return errors.Join(l.report.WriteTable(out), files.write(l.report))
}

// delayed starts a proxy that adds so much to each round trip.
func delayed(addr string, roundTrip time.Duration) (*redistest.Proxy, error) {
	proxy, err := redistest.LaunchProxy(addr)
	if err != nil {
		return nil, fmt.Errorf("-latency: %w", err)
	}
	proxy.Delay(redistest.ToServer, roundTrip/2)
	proxy.Delay(redistest.ToClient, roundTrip/2)
	return proxy, nil
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
