package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for rules with a time zone, where the system has none

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, nil)
	stop()
	if err == nil || errors.Is(err, flags.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "ratelimit:", err)
	os.Exit(1)
}

// run is the program. All that it has opened is closed when it returns. It calls
// started, unless it is nil, with where it listens.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, started func(*program)) error {
	s, err := parse(args, stdout)
	if err != nil {
		return err
	}
	p, err := start(ctx, s, s.Log.logger(stderr))
	if err != nil {
		return err
	}
	defer p.close()
	if started != nil {
		started(p)
	}
	return p.run(ctx)
}
