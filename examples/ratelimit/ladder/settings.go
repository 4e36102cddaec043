package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// settings is what the flags say.
type settings struct {
	Target  string `placeholder:"HOST:PORT" help:"Where the service is."`
	Service string `placeholder:"COMMAND" help:"Command of the service in the folder above, in place of -target: it is started with three redis-servers, and the table has the CPU of each."`

	verdict.Plan `embed:""`

	For     time.Duration `default:"30s" help:"Time of each step that is measured."`
	WarmUp  time.Duration `name:"warmup" default:"5s" help:"Time of the same load before it."`
	Pause   time.Duration `default:"5s" help:"Time between steps."`
	Timeout time.Duration `default:"1s" help:"Time after which a request fails, from when it was due."`

	Outstanding int `default:"10000" help:"Requests that may be under way; those due beyond it fail."`
	Connections int `default:"4" help:"Number of HTTP/2 connections."`

	Keys        int               `default:"10000" help:"Number of different keys; 1 is a hot key."`
	Zipf        float64           `default:"0" help:"Exponent, above 1, of a Zipf distribution of the keys; 0: all are as likely."`
	Seed        uint64            `default:"1" help:"Number that the draw of the keys begins with."`
	Domain      string            `default:"shop" help:"Name of the domain of all requests."`
	Descriptors []load.Descriptor `name:"descriptor" sep:"none" default:"user=*" placeholder:"KEY=VALUE,..." help:"Descriptor of each request, * for the key's number; may be repeated."`

	Raw     string `placeholder:"FILE" help:"File to write all figures to, as lines of JSON; compressed if its name ends with .gz."`
	Plot    string `placeholder:"FILE" help:"File to write a plot to (SVG)."`
	Rewrite string `placeholder:"FOLDER" help:"Measure nothing: make the tables of the pages in the folder again from their raw files."`

	all []flags.Flag // for the report
}

const description = "Loads a rate-limit service that speaks Envoy's protocol at one rate after the other and says at which it breaks:\n\n" +
	"go run ./ladder -target 127.0.0.1:8081 -from 1000 -to 5000 -step 1000 -for 10s -plot ladder.svg"

// parse reads the flags. The usage goes to w.
func parse(args []string, w io.Writer) (*settings, error) {
	s := &settings{}
	var err error
	s.all, err = flags.Parse(s, args, w, kong.Name("ladder"), kong.Description(description))
	return s, err
}

// Bounds of what makes sense on one machine.
const (
	mostRate     = 10_000_000
	mostKeys     = 1_000_000 // whose requests are made before
	mostDuration = 24 * time.Hour
)

// Validate finds values that make no sense.
func (s *settings) Validate() error {
	host, port, err := net.SplitHostPort(s.Target)
	switch {
	case s.Rewrite != "":
		return nil
	case s.Service != "" && s.Target != "":
		return errors.New("--target and --service: want one of them")
	case s.Service == "" && (err != nil || host == "" || port == ""):
		return fmt.Errorf("--target %q: want host:port", s.Target)
	case s.Zipf != 0 && !(s.Zipf > 1 && s.Zipf <= 100):
		return fmt.Errorf("--zipf %v: want more than 1, and at most 100", s.Zipf)
	case s.Keys > 1 && !slices.ContainsFunc(s.Descriptors, load.Descriptor.Varies):
		return fmt.Errorf("--descriptor %v: want a value with * in it, which stands for the key, or -keys 1", s.Descriptors)
	case s.Domain == "":
		return errors.New(`--domain "": want a name`)
	}
	return cmp.Or(
		within("from", s.From, 1, mostRate), within("to", s.To, s.From, mostRate), within("step", s.Step, 1, mostRate), within("max", s.Max, s.To, mostRate),
		within("outstanding", s.Outstanding, 1, 1_000_000), within("connections", s.Connections, 1, 1_000),
		within("keys", s.Keys, 1, mostKeys), within("for", s.For, max(10*time.Millisecond, time.Second/time.Duration(max(1, s.From))), mostDuration), // a request at least
		within("warmup", s.WarmUp, 0, mostDuration), within("pause", s.Pause, 0, mostDuration),
		within("timeout", s.Timeout, time.Millisecond, time.Minute),
	)
}

func within[N cmp.Ordered](flag string, value, low, high N) error {
	if value >= low && value <= high {
		return nil
	}
	return fmt.Errorf("--%s %v: want %v to %v", flag, value, low, high)
}
