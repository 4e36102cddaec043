package main

import (
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/pool"
)

// settings say what is measured; the flags.
type settings struct {
	callers             []int
	scenarios           []scenario
	clients             []client
	during              time.Duration
	rounds              int
	primaries, replicas int
	limited             bool
	large               bool
	limits              bool
	bySize              bool
	leases, lives       bool
	roundTrip           time.Duration
	overTLS             bool
	cutting             bool
	profiling           bool
	raw                 string
	from                []string // raw files; nil: measure
	rewrite             string
	listed              bool // the scenarios are those of -keys
}

func (s *settings) parse(args []string) error {
	flags := flag.NewFlagSet("peers", flag.ExitOnError)
	callers := flags.String("callers", "1,2,4,8,16,100,1000", "numbers of `callers`")
	keys := flags.String("keys", "", "instead of the four scenarios, one for each of these `numbers` of keys in a request")
	names := flags.String("clients", ".", "only clients whose name matches the regular `expression`")
	which := flags.String("scenarios", ".", "only scenarios whose name matches the regular `expression`")
	noLimit := flags.Bool("nolimit", false, "leave redis-benchmark out")
	flags.DurationVar(&s.during, "for", 400*time.Millisecond, "how long each client is measured in each round")
	flags.IntVar(&s.rounds, "rounds", 7, "how often each client has its turn")
	flags.IntVar(&s.primaries, "primaries", 3, "`number` of the cluster's primaries")
	flags.IntVar(&s.replicas, "replicas", 1, "`number` of replicas of each")
	flags.BoolVar(&s.large, "large", false, "measure large pipelines and large replies instead")
	flags.BoolVar(&s.limits, "limits", false, "measure rate limiters instead")
	flags.BoolVar(&s.bySize, "radix", false, "measure radix instead, by the size of its pools")
	flags.BoolVar(&s.leases, "leases", false, "measure a key of a rate limiter instead, by its rate, with leases and without")
	flags.BoolVar(&s.lives, "lives", false, "print instead how many hits are lost with processes that end without Close")
	flags.DurationVar(&s.roundTrip, "roundtrip", 0, "round trip of a network before the servers")
	flags.BoolVar(&s.overTLS, "tls", false, "let servers and clients speak TLS")
	flags.BoolVar(&s.cutting, "cuts", false, "cut connections at each byte instead, and count what became of the commands")
	flags.BoolVar(&s.profiling, "parts", false, "profile each client once instead, and tell what it spends its time on")
	flags.StringVar(&s.raw, "raw", "", "write each turn to the `file` as a line of JSON, while measuring")
	from := flags.String("from", "", "measure nothing: report what the raw `files`, with commas between, hold")
	flags.StringVar(&s.rewrite, "rewrite", "", "measure nothing: make the tables of the pages in the `folder` again from their raw files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: is no flag", flags.Arg(0))
	}
	s.limited = !*noLimit && !s.limits && !s.bySize && !s.leases && !s.lives && !s.large && !s.cutting && !s.profiling
	if *from != "" {
		s.from = strings.Split(*from, ",")
	}
	switch {
	case s.cutting:
		s.primaries, s.replicas = 1, 0 // a connection carries all there is to cut
	case s.leases || s.lives:
		s.replicas, s.rounds = 0, 1
	}
	var err error
	if s.callers, err = numbers("callers", *callers); err != nil {
		return err
	}
	if err := s.choose(*names, *which, *keys); err != nil {
		return err
	}
	return s.validate()
}

// choose finds the clients and the scenarios by their names.
func (s *settings) choose(names, which, keys string) error {
	name, err := regexp.Compile(names)
	if err != nil {
		return fmt.Errorf("-clients: %w", err)
	}
	them, all := clients(), scenarios
	switch {
	case s.limits:
		them, all = limiters(), limitScenarios
	case s.bySize:
		them = radixBySize()
	case s.large:
		them = append(them, ours("ours-fixed-50", pool.Fixed{Size: 50}))
	}
	for _, c := range them {
		if name.MatchString(c.name) {
			s.clients = append(s.clients, c)
		}
	}
	if name, err = regexp.Compile(which); err != nil {
		return fmt.Errorf("-scenarios: %w", err)
	}
	if keys != "" {
		counts, err := numbers("keys", keys)
		if err != nil {
			return err
		}
		all, s.listed = nil, true
		for _, n := range counts {
			if n > maxKeys {
				return fmt.Errorf("-keys %s: want at most %d in a request", keys, maxKeys)
			}
			all = append(all, mixed(n))
		}
	}
	for _, one := range all {
		if name.MatchString(one.name) {
			s.scenarios = append(s.scenarios, one)
		}
	}
	return nil
}

func (s *settings) validate() error {
	switch {
	case len(s.clients) == 0:
		return fmt.Errorf("-clients: the expression matches none")
	case len(s.scenarios) == 0:
		return fmt.Errorf("-scenarios: the expression matches none")
	case s.from != nil && (s.raw != "" || s.rewrite != ""):
		return fmt.Errorf("-from: cannot be used with -raw or -rewrite")
	case s.cutting && (s.large || s.limits || s.overTLS):
		return fmt.Errorf("-cuts: cannot be used with -large, -limits or -tls")
	case s.profiling && (s.large || s.cutting):
		return fmt.Errorf("-parts: cannot be used with -large or -cuts")
	case s.limits && (s.large || s.listed):
		return fmt.Errorf("-limits: cannot be used with -large or -keys: it has scenarios of its own")
	case s.roundTrip != 0 && (s.roundTrip < 0 || s.limits || s.cutting || s.overTLS):
		return fmt.Errorf("-roundtrip %v: must be positive, and cannot be used with -limits, -cuts or -tls", s.roundTrip)
	case s.rounds < 1:
		return fmt.Errorf("-rounds %d: must be positive", s.rounds)
	case s.during <= 0:
		return fmt.Errorf("-for %v: must be positive", s.during)
	case s.primaries < 1 || s.replicas < 0:
		return fmt.Errorf("-primaries %d -replicas %d: want at least one primary", s.primaries, s.replicas)
	}
	return nil
}

func numbers(name, list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-%s %s: want positive numbers with commas between", name, list)
		}
		all = append(all, n)
	}
	return all, nil
}
