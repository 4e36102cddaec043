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

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/plot"
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
	file, err := settings.Read(o.file)
	if err != nil {
		say(progress, "%v\n", err)
		return misused
	}
	if err := o.choose(file); err != nil {
		say(progress, "compare: %v\n", err)
		return misused
	}
	c := &comparison{file: file, report: report.New(file), progress: newProgress(progress, file.Took())}
	err = c.run(ctx)
	c.report.Finish()
	switch {
	case ctx.Err() != nil:
		c.report.Interrupted = true
	case err != nil:
		c.report.Failure = err.Error()
	}
	c.report.WriteTable(out)
	if o.stats {
		c.report.WriteStatistics(out)
	}
	if err := errors.Join(o.write(c.report), c.stopped); err != nil {
		say(progress, "compare: %v\n", err)
		return failed
	}
	switch {
	case c.report.Interrupted:
		return interrupted
	case c.report.Failure != "":
		return failed
	}
	return ok
}

func parseFlags(args []string, w io.Writer) (o options, err error) {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(w)
	f.StringVar(&o.file, "f", "", "the `file` of settings (YAML); README.md has its format")
	f.StringVar(&o.json, "json", "", "write everything to the `file` as JSON")
	f.BoolVar(&o.stats, "stats", false, "print all percentiles, moments and tests as well")
	f.StringVar(&o.plots, "plots", "", "write plots (SVG) into the `folder`, which is made if need be")
	f.BoolVar(&o.png, "png", false, "write the plots as PNG, too")
	only := f.String("only", "", "only runs whose name matches the regular `expression`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.file == "" || f.NArg() > 0 {
		say(w, "compare: want a file of settings: compare -f settings.yaml\n")
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

// write writes the files that were asked for.
func (o options) write(r *report.Report) error {
	var errs []error
	if o.json != "" {
		errs = append(errs, writeFile(o.json, r.WriteJSON))
	}
	if o.plots != "" {
		formats := []string{"svg"}
		if o.png {
			formats = append(formats, "png")
		}
		errs = append(errs, plot.Write(o.plots, formats, r))
	}
	return errors.Join(errs...)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
