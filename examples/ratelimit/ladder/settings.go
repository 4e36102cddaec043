package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// settings is what the flags say.
type settings struct {
	target      string
	plan        verdict.Plan
	measured    time.Duration
	warmUp      time.Duration
	pause       time.Duration
	timeout     time.Duration
	latency     time.Duration
	outstanding int
	connections int

	keys         int
	distribution string
	skew         float64
	seed         uint64
	domain       string
	descriptors  []load.Descriptor

	json, page string
	flags      []report.Setting // all flags, for the report
}

const usage = `ladder loads a rate-limit service that speaks Envoy's protocol at one rate after
the other and says at which it breaks.

  go run ./ladder -target 127.0.0.1:8081
  go run ./ladder -target 127.0.0.1:8081 -from 1000 -to 5000 -step 1000 -for 10s -report ladder.html

Flags:
`

// parse reads the flags. Its error is flag.ErrHelp if the user asked for the
// usage, which is then written to w.
func parse(args []string, w io.Writer) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("ladder", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	s.define(f)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(w)
			say(w, "%s", usage)
			f.PrintDefaults()
			return nil, err
		}
		return nil, seeHelp(err)
	}
	if f.NArg() > 0 {
		return nil, seeHelp(fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	if len(s.descriptors) == 0 {
		s.descriptors = []load.Descriptor{{{Key: "user", Value: "*"}}}
	}
	if err := s.check(); err != nil {
		return nil, seeHelp(err)
	}
	f.VisitAll(func(v *flag.Flag) {
		value := v.Value.String()
		if v.Name == "descriptor" {
			value = s.describe()
		}
		s.flags = append(s.flags, report.Setting{Name: v.Name, Value: value})
	})
	return s, nil
}

func seeHelp(err error) error { return fmt.Errorf("%w (-help lists the flags)", err) }

func (s *settings) define(f *flag.FlagSet) {
	f.StringVar(&s.target, "target", "", "`host:port` of the service")
	f.IntVar(&s.plan.From, "from", 10_000, "`requests` a second of the first step")
	f.IntVar(&s.plan.To, "to", 30_000, "`requests` a second up to which all steps run")
	f.IntVar(&s.plan.Step, "step", 2_500, "`requests` a second between steps")
	f.IntVar(&s.plan.Max, "max", 100_000, "`requests` a second up to which steps go on for as long as all hold")
	f.Float64Var(&s.plan.Refine, "refine", 0, "halve the gap between limit and breaking point until it is so many `percent`; 0: do not")
	f.DurationVar(&s.measured, "for", 30*time.Second, "`duration` of each step that is measured")
	f.DurationVar(&s.warmUp, "warmup", 5*time.Second, "`duration` of the same load before it")
	f.DurationVar(&s.pause, "pause", 5*time.Second, "`duration` between steps")
	f.DurationVar(&s.timeout, "timeout", time.Second, "`duration` after which a request fails, from when it was due")
	f.IntVar(&s.outstanding, "outstanding", 10_000, "`requests` that may be under way; those due beyond it fail")
	f.IntVar(&s.connections, "connections", 4, "`number` of HTTP/2 connections")
	f.DurationVar(&s.latency, "latency", 0, "`duration` added to each round trip by a proxy in this process")
	f.IntVar(&s.keys, "keys", 10_000, "`number` of different keys; 1 is a hot key")
	f.StringVar(&s.distribution, "distribution", "uniform", "`how` keys are drawn: uniform or zipf")
	f.Float64Var(&s.skew, "skew", 1.1, "`exponent` of zipf, above 1")
	f.Uint64Var(&s.seed, "seed", 1, "`number` that keys are drawn from")
	f.StringVar(&s.domain, "domain", "shop", "`name` of the domain of all requests")
	f.Func("descriptor", "`key=value,...` of each request, * for the key's number; may be repeated (default user=*)", func(text string) error {
		d, err := load.ParseDescriptor(text)
		s.descriptors = append(s.descriptors, d)
		return err
	})
	f.StringVar(&s.json, "json", "", "`file` to write all figures to")
	f.StringVar(&s.page, "report", "", "`file` to write a page with plots to (HTML)")
}

func (s *settings) describe() string {
	var all []string
	for _, d := range s.descriptors {
		all = append(all, d.String())
	}
	return strings.Join(all, " ")
}

// Bounds of what makes sense on one machine.
const (
	mostRate        = 10_000_000
	mostKeys        = 1_000_000 // whose requests are made before
	mostOutstanding = 1_000_000
	mostConnections = 1_000
	mostTimeout     = time.Minute
	mostDuration    = 24 * time.Hour
)

// check finds values that make no sense.
func (s *settings) check() error {
	if host, port, err := net.SplitHostPort(s.target); err != nil || host == "" || port == "" {
		return fmt.Errorf("-target %q: want host:port", s.target)
	}
	p := s.plan
	for _, n := range []struct {
		name             string
		value, low, high int
	}{
		{"-from", p.From, 1, mostRate}, {"-to", p.To, p.From, mostRate}, {"-step", p.Step, 1, mostRate}, {"-max", p.Max, p.To, mostRate},
		{"-outstanding", s.outstanding, 1, mostOutstanding}, {"-connections", s.connections, 1, mostConnections},
		{"-keys", s.keys, 1, mostKeys},
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s %d: want %d to %d", n.name, n.value, n.low, n.high)
		}
	}
	for _, d := range []struct {
		name             string
		value, low, high time.Duration
	}{
		{"-for", s.measured, 10 * time.Millisecond, mostDuration}, {"-warmup", s.warmUp, 0, mostDuration}, {"-pause", s.pause, 0, mostDuration},
		{"-timeout", s.timeout, time.Millisecond, mostTimeout}, {"-latency", s.latency, 0, mostTimeout},
	} {
		if d.value < d.low || d.value > d.high {
			return fmt.Errorf("%s %v: want %v to %v", d.name, d.value, d.low, d.high)
		}
	}
	if float64(p.From)*s.measured.Seconds() < 1 {
		return fmt.Errorf("-from %d with -for %v: want at least one request in each step", p.From, s.measured)
	}
	return s.checkRest()
}

func (s *settings) checkRest() error {
	varies := slices.ContainsFunc(s.descriptors, load.Descriptor.Varies)
	switch {
	case !(s.plan.Refine >= 0 && s.plan.Refine <= 100):
		return fmt.Errorf("-refine %v: want 0 to 100 percent", s.plan.Refine)
	case s.distribution != "uniform" && s.distribution != "zipf":
		return fmt.Errorf("-distribution %q: want uniform or zipf", s.distribution)
	case s.distribution == "zipf" && !(s.skew > 1 && s.skew <= 100):
		return fmt.Errorf("-skew %v: want more than 1, and at most 100", s.skew)
	case s.domain == "":
		return errors.New(`-domain "": want a name`)
	case s.json != "" && filepath.Clean(s.json) == filepath.Clean(s.page):
		return fmt.Errorf("-json %s and -report %s: want two files", s.json, s.page)
	case s.keys > 1 && !varies:
		return fmt.Errorf("-descriptor %s: want a value with * in it, which stands for the key, or -keys 1", s.describe())
	}
	return nil
}
