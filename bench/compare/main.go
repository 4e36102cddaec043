// Command compare measures settings of Redislanes beside each other: pools,
// groupings, scenarios, networks and sizes of the cluster, as a file in YAML
// lists or multiplies them, and prints one table.
//
//	go -C bench/compare run . -f settings/quick.yaml
//
// It starts the clusters itself, or takes that of REDIS_ADDRS. README.md has the
// flags, how it measures, and every key of the file.
//
// It compares Redislanes with itself; command peers compares it with others.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/redislanes/redislanes/bench/compare/internal/plot"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/bench/rawfile"
	"github.com/redislanes/redislanes/bench/table"
)

// Exit statuses.
const (
	ok          = 0
	failed      = 1
	misused     = 2
	interrupted = 130
)

func main() {
	child.Main()
	// The second signal ends the process at once; internal/servers' watchdog then stops the servers.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	file, from, pages string
	raw, plots        string
}

// command is main with its surroundings as arguments. It returns the exit status.
func command(ctx context.Context, args []string, out, progress io.Writer) int {
	o, err := parseFlags(args, progress)
	status := ok
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ok
	case err != nil:
		return misused
	case o.pages != "":
		err = evidence.Rewrite(out, o.pages, "compare", make(reports).table, make(reports).picture)
	case o.from != "":
		err = o.again(out)
	default:
		status, err = o.measure(ctx, out, progress)
	}
	if err != nil {
		table.Print(progress, "compare: %v\n", err)
		return cmp.Or(status, failed)
	}
	return status
}

// measure opens what the flags name before anything is measured, so that a name which cannot
// be written to is known at once.
func (o options) measure(ctx context.Context, out, progress io.Writer) (status int, err error) {
	file, err := settings.Read(o.file)
	if err == nil {
		err = fits(file)
	}
	if err != nil {
		return misused, err
	}
	c := &comparison{file: file, report: report.New(file), progress: progress, left: file.Took()}
	c.out, err = rawfile.Create(o.raw)
	if err == nil && o.plots != "" {
		err = os.MkdirAll(o.plots, 0o755)
	}
	if err != nil {
		return failed, err
	}
	err = c.run(ctx)
	c.report.Finish()
	switch {
	case ctx.Err() != nil:
		status, c.report.Interrupted = interrupted, true
	case err != nil:
		status, c.report.Failure = failed, err.Error()
	}
	c.report.WriteTable(out)
	if err := errors.Join(c.end(), o.draw(c.report, progress), c.stopped); err != nil {
		return failed, err
	}
	return status, nil
}

// again reports what was measured before, from its raw file.
func (o options) again(out io.Writer) error {
	r, err := readRaw(o.from)
	if err != nil {
		return err
	}
	r.WriteTable(out)
	return o.draw(r, out)
}

// draw writes the plots.
func (o options) draw(r *report.Report, w io.Writer) error {
	if o.plots == "" {
		return nil
	}
	if err := os.MkdirAll(o.plots, 0o755); err != nil {
		return fmt.Errorf("-plots: %w", err)
	}
	for _, f := range plot.All(r) {
		svg, err := f.SVG()
		if err == nil {
			err = os.WriteFile(filepath.Join(o.plots, f.Name+".svg"), svg, 0o644)
		}
		if err != nil {
			return fmt.Errorf("-plots: %w", err)
		}
	}
	table.Print(w, "plots: %s\n", o.plots)
	return nil
}

func parseFlags(args []string, w io.Writer) (o options, err error) {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(w)
	f.StringVar(&o.file, "f", "", "the `file` of settings (YAML); README.md has its format")
	f.StringVar(&o.from, "from", "", "measure nothing: report what the raw `file` holds")
	f.StringVar(&o.pages, "rewrite", "", "measure nothing: make the tables and pictures of the pages in the `folder` again from their raw files")
	f.StringVar(&o.raw, "raw", "", "write each turn to the `file` as a line of JSON, compressed if its name ends with .gz")
	f.StringVar(&o.plots, "plots", "", "draw plots into the `folder`, as SVG")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	wanted := 0
	for _, name := range []string{o.file, o.from, o.pages} {
		if name != "" {
			wanted++
		}
	}
	if wanted != 1 || o.raw != "" && o.file == "" || f.NArg() > 0 {
		table.Print(w, "compare: want a file of settings: compare -f settings.yaml; or what was measured: compare -from file.jsonl\n")
		f.Usage()
		return o, errors.New("no file")
	}
	return o, nil
}

// fits refuses a file that the cluster of REDIS_ADDRS cannot be measured with.
func fits(f *settings.File) error {
	if os.Getenv("REDIS_ADDRS") != "" && f.VariesPrimaries() {
		return fmt.Errorf("%s varies primaries, which the cluster of REDIS_ADDRS cannot do: unset REDIS_ADDRS", f.Name)
	}
	return nil
}
