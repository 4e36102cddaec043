package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/raw"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// Exit statuses.
const (
	ok          = 0
	failed      = 1
	misused     = 2
	interrupted = 130
)

func main() {
	if load.IsNetwork() {
		if err := load.ServeNetwork(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "compare:", err)
			os.Exit(failed)
		}
		return
	}
	ctx, stop := signalled()
	status := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// signalled returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once; internal/servers' watchdog then stops the
// servers.
func signalled() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals) // before the context ends, so that no second signal is lost after it
		cancel()
	}()
	return ctx, cancel
}

// options are the flags.
type options struct {
	file  string
	json  string
	html  string
	raw   string
	from  string
	pages string
	stats bool
	plots string
	png   bool
	only  *regexp.Regexp
}

// command is main with its surroundings as arguments. It returns the exit status.
func command(ctx context.Context, args []string, out, progress io.Writer) int {
	o, err := parseFlags(args, progress)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return ok
		}
		return misused
	}
	if o.pages != "" {
		return o.rewrite(out, progress)
	}
	if o.from != "" {
		return o.again(out, progress)
	}
	file, err := settings.Read(o.file)
	if err != nil {
		say(progress, "%v\n", err)
		return misused
	}
	if err := o.choose(file); err != nil {
		say(progress, "compare: %v\n", err)
		return misused
	}
	files, err := o.create()
	if err != nil {
		say(progress, "compare: %v\n", err)
		return failed
	}
	c := &comparison{file: file, report: report.New(file), progress: newProgress(progress, file.Took())}
	if files.raw != nil {
		c.raw = raw.NewWriter(files.raw)
	}
	err = c.run(ctx)
	c.report.Finish()
	switch {
	case ctx.Err() != nil:
		c.report.Interrupted = true
	case err != nil:
		c.report.Failure = err.Error()
	}
	o.print(c.report, out)
	if err := errors.Join(c.raw.End(c.report), files.write(c.report), c.stopped); err != nil {
		say(progress, "compare: %v\n", err)
		return failed
	}
	files.sayWhere(progress)
	switch {
	case c.report.Interrupted:
		return interrupted
	case c.report.Failure != "":
		return failed
	}
	return ok
}

// again reports what was measured before, from its raw file.
func (o options) again(out, progress io.Writer) int {
	if o.only.String() != "" {
		say(progress, "compare: -only chooses what to measure: it does not go with -from\n")
		return misused
	}
	from, err := os.Open(o.from)
	if err != nil {
		say(progress, "compare: -from: %v\n", err)
		return misused
	}
	defer from.Close()
	r, err := raw.Read(o.from, from)
	if err != nil {
		say(progress, "compare: -from: %v\n", err)
		return misused
	}
	files, err := o.create()
	if err == nil {
		o.print(r, out)
		err = files.write(r)
	}
	if err != nil {
		say(progress, "compare: %v\n", err)
		return failed
	}
	files.sayWhere(progress)
	return ok
}

// rewrite makes the tables and pictures of pages again.
func (o options) rewrite(out, progress io.Writer) int {
	known := make(reports)
	changed, err := pages.Rewrite(o.pages, "compare", false, known.table)
	drawn, drawErr := pages.Redraw(o.pages, "compare", false, known.picture)
	changed, err = append(changed, drawn...), errors.Join(err, drawErr)
	for _, name := range changed {
		say(out, "wrote %s\n", name)
	}
	if err != nil {
		say(progress, "compare: -rewrite: %v\n", err)
		return failed
	}
	return ok
}

func (o options) print(r *report.Report, out io.Writer) {
	r.WriteTable(out)
	if o.stats {
		r.WriteStatistics(out)
	}
}

func parseFlags(args []string, w io.Writer) (o options, err error) {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(w)
	f.StringVar(&o.file, "f", "", "the `file` of settings (YAML); README.md has its format")
	f.StringVar(&o.json, "json", "", "write everything to the `file` as JSON")
	f.StringVar(&o.raw, "raw", "", "write each turn to the `file` as a line of JSON, while measuring")
	f.StringVar(&o.from, "from", "", "measure nothing: report what the raw `file` holds")
	f.StringVar(&o.pages, "rewrite", "", "measure nothing: make the tables and pictures of the pages in the `folder` again from their raw files")
	f.StringVar(&o.html, "html", "", "write a page with tables and plots to the `file`")
	f.BoolVar(&o.stats, "stats", false, "print all percentiles, moments and tests as well")
	f.StringVar(&o.plots, "plots", "", "write plots (SVG) into the `folder`, which is made if need be")
	f.BoolVar(&o.png, "png", false, "write the plots as PNG, too")
	only := f.String("only", "", "only runs whose name matches the regular `expression`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.pages != "" && o.file == "" && o.from == "" && f.NArg() == 0 {
		return o, nil
	}
	if (o.file == "") == (o.from == "") || o.pages != "" || o.from != "" && o.raw != "" || f.NArg() > 0 {
		say(w, "compare: want a file of settings: compare -f settings.yaml; or what was measured: compare -from file.jsonl\n")
		f.Usage()
		return o, errors.New("no file")
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		say(w, "compare: -only: %v\n", err)
	}
	return o, err
}

// choose leaves out the runs that -only does not match, and refuses those that
// the cluster of REDIS_ADDRS cannot be measured with.
func (o options) choose(f *settings.File) error {
	var runs []settings.Run
	for _, r := range f.Runs {
		if o.only.MatchString(r.Name) {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return fmt.Errorf("-only %s: no run has such a name; the first one is %q", o.only, f.Runs[0].Name)
	}
	f.Runs = runs
	if os.Getenv("REDIS_ADDRS") != "" && f.VariesPrimaries() {
		return fmt.Errorf("%s varies primaries, which the cluster of REDIS_ADDRS cannot do: unset REDIS_ADDRS, or use -only", f.Name)
	}
	return nil
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
