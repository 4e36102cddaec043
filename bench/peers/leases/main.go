package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/internal/servers"

	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/bench/rawfile"
)

func main() {
	child.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "leases:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("leases", flag.ContinueOnError)
	raw := flags.String("raw", "", "write what is measured to the `file`, as lines of JSON")
	during := flags.Duration("for", 3*time.Second, "how long each rate is measured")
	rewrite := flags.String("rewrite", "", "measure nothing: make the table and the plot of the page in the `folder` again")
	short := flags.Bool("lives", false, "measure only how many hits are lost with processes that end without Close")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q: is no flag", flags.Arg(0))
	case *during <= 0:
		return fmt.Errorf("-for %v: must be positive", *during)
	case *short:
		return lives(ctx)
	case *rewrite != "":
		return evidence.Rewrite(os.Stdout, *rewrite, "leases", tableOf, picture)
	}
	first := start{rawfile.NewStart(), *during}
	out, err := rawfile.Create(*raw)
	if err != nil {
		return err
	}
	measured := new(record)
	err = measured.sweep(ctx, first, out)
	fmt.Print(measured.table()) // what was measured is reported in any case
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	return errors.Join(out.Write(line{End: &now}), out.Close())
}

// sweep measures all rates, with leases and without in turn.
func (r *record) sweep(ctx context.Context, first start, out *rawfile.Writer) error {
	cluster, err := servers.LaunchCluster(ctx, servers.Options{Primaries: 3})
	if err != nil {
		return err
	}
	defer cluster.Close()
	note := func(l line) error { return errors.Join(r.add(l), out.Write(l)) }
	if err := note(line{Start: &first}); err != nil {
		return err
	}
	for _, rate := range rates {
		for _, leases := range []bool{true, false} {
			fmt.Fprintf(os.Stderr, "%d hits a second, leases %v\n", rate, leases)
			row, err := measure(ctx, cluster.Addrs(), rate, leases, first.During)
			if err != nil {
				return fmt.Errorf("%d hits a second, leases %v: %w", rate, leases, err)
			}
			if err := note(line{Row: &row}); err != nil {
				return err
			}
		}
	}
	return nil
}
