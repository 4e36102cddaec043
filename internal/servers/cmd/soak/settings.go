package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
)

// settings are what the flags say.
type settings struct {
	total       time.Duration
	episode     time.Duration
	seed        uint64
	primaries   int
	replicas    int
	nodeTimeout time.Duration
	pool        string
	maxAge      time.Duration
	callers     int
	keys        int // shared by all callers
	own         int // of each caller alone
	perCall     int
	deadline    time.Duration
	pause       time.Duration
	faults      []kind // the only ones; none: all
	report      string
}

func parseSettings(args []string, errors io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(errors)
	f.DurationVar(&s.total, "for", 10*time.Minute, "how long; a fault that is under way is finished")
	f.DurationVar(&s.episode, "episode", 30*time.Second, "length of an episode, at most half of -for")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the faults")
	f.IntVar(&s.primaries, "primaries", 3, "number of primaries")
	f.IntVar(&s.replicas, "replicas", 1, "number of replicas of each primary")
	f.DurationVar(&s.nodeTimeout, "node-timeout", 2*time.Second, "cluster-node-timeout of the servers")
	f.StringVar(&s.pool, "pool", "laned", "kind of the pools: fixed, adaptive or laned")
	f.DurationVar(&s.maxAge, "max-age", 0, "how long connections are used; 0 for ever")
	f.IntVar(&s.callers, "callers", 32, "number of callers")
	f.IntVar(&s.keys, "keys", 100, "number of keys that all callers share")
	f.IntVar(&s.own, "own", 20, "number of keys that each caller has for itself")
	f.IntVar(&s.perCall, "per-call", 5, "number of keys of one call, each with INCRBY and EXPIRE; half of them the caller's own")
	f.DurationVar(&s.deadline, "deadline", 100*time.Millisecond, "deadline of a call")
	f.DurationVar(&s.pause, "pause", 2*time.Millisecond, "pause of a caller between two calls; 0 for none")
	only := f.String("faults", "", "the only faults, such as kill,throttle; default all")
	f.StringVar(&s.report, "report", "", "file for the report as JSON")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("soak: argument %q: want flags only", f.Arg(0))
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name != "" {
			s.faults = append(s.faults, kind(name))
		}
	}
	s.episode = min(s.episode, s.total/2)
	return s, s.validate()
}

func (s settings) validate() error {
	switch {
	case s.total < time.Second:
		return fmt.Errorf("soak: -for = %v: want at least 1s", s.total)
	case s.episode <= 0:
		return fmt.Errorf("soak: -episode = %v: must be positive", s.episode)
	case s.primaries < 3:
		return fmt.Errorf("soak: -primaries = %d: want at least 3, so that two can elect the successor of one", s.primaries)
	case s.replicas < 1:
		return fmt.Errorf("soak: -replicas = %d: want at least 1, so that there is a successor", s.replicas)
	case s.nodeTimeout < time.Second:
		return fmt.Errorf("soak: -node-timeout = %v: want at least 1s, so that a stall can be shorter", s.nodeTimeout)
	case s.callers < 1:
		return fmt.Errorf("soak: -callers = %d: must be positive", s.callers)
	case s.keys < 2*s.primaries:
		return fmt.Errorf("soak: -keys = %d: want at least two for each of %d primaries", s.keys, s.primaries)
	case s.perCall < 1 || s.ownPerCall() > s.own || s.perCall-s.ownPerCall() > s.keys:
		return fmt.Errorf("soak: -per-call = %d: must be positive, and half of it no more than -own = %d and -keys = %d", s.perCall, s.own, s.keys)
	case s.deadline <= 0:
		return fmt.Errorf("soak: -deadline = %v: must be positive", s.deadline)
	case s.pause < 0:
		return fmt.Errorf("soak: -pause = %v: must not be negative", s.pause)
	}
	for _, k := range s.faults {
		if !slices.Contains(lossyKinds, k) {
			return fmt.Errorf("soak: -faults: %q: want some of %v", k, lossyKinds)
		}
	}
	c, err := s.poolConfig()
	if err != nil {
		return err
	}
	return pool.Validate(c)
}

func (s settings) poolConfig() (pool.Config, error) {
	o := pool.Options{MaxAge: s.maxAge}
	switch s.pool {
	case "fixed":
		return pool.Fixed{Options: o}, nil
	case "adaptive":
		return pool.Adaptive{Options: o}, nil
	case "laned":
		return pool.Laned{Options: o}, nil
	}
	return nil, fmt.Errorf("soak: -pool = %q: want fixed, adaptive or laned", s.pool)
}

func (s settings) cluster() servers.Options {
	return servers.Options{Primaries: s.primaries, Replicas: s.replicas, NodeTimeout: s.nodeTimeout}
}

// slots is the number of slots that hold keys. They hold several, so that a
// slot can be half on its way.
func (s settings) slots() int { return (s.keys + 1) / 2 }

// allKeys is the number of keys of an episode: the shared ones, then those of
// each caller.
func (s settings) allKeys() int { return s.keys + s.callers*s.own }

func (s settings) ownPerCall() int { return (s.perCall + 1) / 2 }
