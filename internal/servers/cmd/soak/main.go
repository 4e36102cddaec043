// Command soak keeps callers on a real Redis Cluster under load while it injects faults, and
// compares what the callers were told with what Redis holds:
//
//	go run ./internal/servers/cmd/soak -for 10m -seed 1
//
// It starts the cluster and opens one cluster.Client. Half of the callers send pipelines of INCRBY
// and EXPIRE, the others hits of pipeline.Counters, each with a deadline. Faults come one after
// another, chosen by -seed: slots that move, failovers, stopped and killed nodes, closed
// connections, and shards that are lost.
//
// The time is divided into episodes with keys of their own. At the end of each, every key holds
//
//	acknowledged <= value <= acknowledged + unknown
//
// The lower bound is dropped once a fault lets Redis lose acknowledged writes: a failover that is
// not graceful, a kill, or a stall that may cause a failover. Half of the episodes are lossless:
// they have no such fault.
//
// The exit status is 1 if a key violates its bounds, a command ends in none of the four ways, calls
// cling to a lost shard, the client leaves goroutines or memory behind, or the cluster does not
// become healthy again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout)) }

// command returns the exit status.
func command(args []string, out io.Writer) int {
	s, err := parseSettings(args, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintln(out, "soak:", err)
		return 2
	}
	r, err := run(context.Background(), s, out)
	if err != nil {
		_, _ = fmt.Fprintln(out, "soak:", err)
		return 1
	}
	r.print(out)
	if len(r.failures) > 0 {
		return 1
	}
	return 0
}

// settings are what the flags say.
type settings struct {
	total time.Duration
	seed  uint64
	kinds []kind // of faults; none: all
}

func parseSettings(args []string, out io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(out)
	f.DurationVar(&s.total, "for", 10*time.Minute, "how long; a fault that is under way is finished")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the faults")
	only := f.String("faults", "", "the only faults, such as kill,reshard; default all")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name != "" {
			s.kinds = append(s.kinds, kind(name))
		}
	}
	return s, s.validate(f.Args())
}

func (s settings) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("argument %q: want flags only", rest[0])
	case s.total < time.Second:
		return fmt.Errorf("-for = %v: want at least 1s", s.total)
	}
	for _, k := range s.kinds {
		if !slices.Contains(lossyKinds, k) {
			return fmt.Errorf("-faults: %q: want some of %v", k, lossyKinds)
		}
	}
	return nil
}
