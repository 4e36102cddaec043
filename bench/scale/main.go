// Command scale measures what a cluster on one machine cannot show: the limits of the client
// itself and the cost of a very large cluster.
//
//	go -C bench run ./scale -raw raw/scale.jsonl.gz
//	go -C bench run ./scale -memory -raw raw/memory.jsonl.gz
//
// Both are measured beside servers that answer without work, in a process of their own: each finds
// the commands by counting line ends, and replies 1. What is left is the client and the kernel.
// With -memory it asks what a client keeps, and what Redis keeps for each of its connections.
//
// Results are lines of JSON; -rewrite makes the tables of the pages from them.
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

	"github.com/redislanes/redislanes/internal/machine"

	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/bench/rawfile"
	"github.com/redislanes/redislanes/bench/table"
)

func main() {
	child.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	raw := flags.String("raw", "", "write what is measured to the `file`, as lines of JSON")
	memory := flags.Bool("memory", false, "measure only what clients keep in memory, by primaries and lanes")
	rewrite := flags.String("rewrite", "", "measure nothing: make the tables of the pages in the `folder` again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q: is no flag", flags.Arg(0))
	case *rewrite != "":
		return evidence.Rewrite(os.Stdout, *rewrite, "scale", tableOf, nil)
	}
	what := []measurement{wholeClientPlan.measure, wholeLargePlan.measure}
	if *memory {
		what = []measurement{wholeFootprintPlan.measure}
	}
	return measure(ctx, *raw, what...)
}

// A measurement hands what it finds to write, one line after the other.
type measurement func(ctx context.Context, write func(line) error) error

// measure writes each result to the raw file, and all of them as tables to standard output.
func measure(ctx context.Context, raw string, all ...measurement) error {
	first := rawfile.NewStart()
	out, err := rawfile.Create(raw)
	if err != nil {
		return err
	}
	r := new(record)
	write := func(l line) error { return errors.Join(r.add(l), out.Write(l)) }
	err = write(line{Start: &first})
	for _, measure := range all {
		if err == nil {
			err = measure(ctx, write)
		}
	}
	r.report(os.Stdout)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	return errors.Join(write(line{End: &now}), out.Close())
}

// report prints all tables.
func (r *record) report(w io.Writer) {
	table.Print(w, "%s\n", rawfile.Source(r.machine))
	for _, t := range []*table.Table{r.clientTable(), r.largeTable(), r.footprintTable(), r.connectionTable()} {
		if len(t.Rows) > 0 {
			table.Print(w, "\n%v", t)
		}
	}
}

// A line is one of these, which have a field each.
type line struct {
	Start  *rawfile.Start `json:"start,omitempty"` // the first line
	Client *carried       `json:"client,omitempty"`
	Large  *large         `json:"cluster,omitempty"`
	Memory *footprint     `json:"memory,omitempty"`
	End    *time.Time     `json:"end,omitempty"`
}

// A record is what a raw file holds.
type record struct {
	machine machine.Machine
	clients []carried
	large   []large

	footprints []footprint
}

func (r *record) add(l line) error {
	switch {
	case l.Start != nil:
		r.machine = l.Start.Machine
	case l.Client != nil:
		r.clients = append(r.clients, *l.Client)
	case l.Large != nil:
		r.large = append(r.large, *l.Large)
	case l.Memory != nil:
		r.footprints = append(r.footprints, *l.Memory)
	}
	return nil
}

func readRaw(name string) (*record, error) {
	r := new(record)
	return r, rawfile.Read(name, r.add)
}
