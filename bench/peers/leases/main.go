package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/internal/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := func() error { return command(ctx, os.Args[1:]) }
	if task := os.Getenv(lifeEnv); task != "" {
		do = func() error { return live(ctx, task) }
	}
	if err := do(); err != nil {
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
		changed, err := writePage(*rewrite, false)
		for _, name := range changed {
			fmt.Println("wrote", name)
		}
		return err
	}
	// The machine is described first: a raw file that is written again is a change to the commit.
	first := start{Format: rawFormat, Machine: machine.This(), During: *during}
	out, err := createRaw(*raw)
	if err != nil {
		return err
	}
	measured, err := sweep(ctx, first, out)
	if err != nil {
		return err
	}
	fmt.Print(measured.table())
	return out.end()
}

// sweep measures all rates, with leases and without in turn.
func sweep(ctx context.Context, first start, out *rawWriter) (*record, error) {
	cluster, err := servers.LaunchCluster(ctx, servers.Options{Primaries: 3})
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	r := new(record)
	note := func(l line) error {
		r.add(l)
		return out.write(l)
	}
	if err := note(line{Start: &first}); err != nil {
		return nil, err
	}
	for _, rate := range rates {
		for _, leases := range []bool{true, false} {
			fmt.Fprintf(os.Stderr, "%d hits a second, leases %v\n", rate, leases)
			row, err := measure(ctx, cluster.Addrs(), rate, leases, first.During)
			if err != nil {
				return nil, fmt.Errorf("%d hits a second, leases %v: %w", rate, leases, err)
			}
			if err := note(line{Row: &row}); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// writePage makes the table in the folder's leases.md, and leases.svg beside it. With check it only
// returns what differs.
func writePage(folder string, check bool) (changed []string, err error) {
	changed, err = pages.Rewrite(folder, "leases", check, tableOf)
	if err != nil {
		return changed, err
	}
	r, err := readRaw(folder + "/" + rawOfPage)
	if err != nil {
		return changed, err
	}
	svg, err := r.plot()
	if err != nil {
		return changed, err
	}
	name := folder + "/leases.svg"
	if old, err := os.ReadFile(name); err == nil && string(old) == string(svg) {
		return changed, nil
	}
	changed = append(changed, name)
	if check {
		return changed, nil
	}
	return changed, os.WriteFile(name, svg, 0o644)
}

// rawOfPage is the page's raw file, from its folder.
const rawOfPage = "../bench/raw/leases.jsonl"
