package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/redistest"
)

// peers is one run.
type peers struct {
	callers   []int
	scenarios []scenario
	clients   []client
	during    time.Duration
	rounds    int
	skipLimit bool
	profile   string

	servers *redistest.Cluster
	addrs   []string
	limit   float64 // commands a second of redis-benchmark; 0: not measured
	results map[cell]*result
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	p, err := settings()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	servers, err := redistest.LaunchCluster(start, redistest.Options{Primaries: 3, Replicas: 1})
	if err != nil {
		return err
	}
	defer servers.Close()
	p.servers, p.addrs = servers, servers.Addrs()[:3]
	printMachine()
	if !p.skipLimit {
		if p.limit, err = limitOf(ctx, p.addrs[0]); err != nil {
			return err
		}
		fmt.Printf("redis-benchmark -P 32: %.0f commands/s\n", p.limit)
	}
	if p.profile != "" {
		f, err := os.Create(p.profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if err := p.measure(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	p.report(os.Stdout)
	return nil
}

func settings() (*peers, error) {
	p := &peers{results: make(map[cell]*result)}
	callers := flag.String("callers", "1,8,100,1000", "numbers of `callers`")
	only := flag.String("clients", ".", "only clients whose name matches the regular `expression`")
	which := flag.String("scenarios", ".", "only scenarios whose name matches the regular `expression`")
	flag.DurationVar(&p.during, "for", 2*time.Second, "how long each client is measured in each round")
	flag.IntVar(&p.rounds, "rounds", 3, "how often each client has its turn")
	flag.BoolVar(&p.skipLimit, "nolimit", false, "leave redis-benchmark out")
	flag.StringVar(&p.profile, "cpuprofile", "", "write a CPU profile of the whole run to the `file`")
	flag.Parse()
	for text := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-callers %s: want positive numbers with commas between", *callers)
		}
		p.callers = append(p.callers, n)
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return nil, fmt.Errorf("-clients: %w", err)
	}
	for _, c := range clients() {
		if names.MatchString(c.name) {
			p.clients = append(p.clients, c)
		}
	}
	if names, err = regexp.Compile(*which); err != nil {
		return nil, fmt.Errorf("-scenarios: %w", err)
	}
	for _, s := range scenarios {
		if names.MatchString(s.name) {
			p.scenarios = append(p.scenarios, s)
		}
	}
	if len(p.clients) == 0 || len(p.scenarios) == 0 || p.rounds < 1 || p.during <= 0 {
		return nil, errors.New("nothing to measure: look at -clients, -scenarios, -rounds and -for")
	}
	return p, nil
}

func printMachine() {
	version, _ := exec.Command("redis-server", "--version").Output()
	fmt.Printf("%s, %s/%s, %d CPUs, %s; %s", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version(), version)
}

// measure lets each client have its turn in each round, so that what the machine
// does meanwhile meets all of them.
func (p *peers) measure(ctx context.Context) error {
	for _, callers := range p.callers {
		for _, s := range p.scenarios {
			if err := p.compare(ctx, callers, s); err != nil {
				return err
			}
		}
	}
	return nil
}

const warmUp = 300 * time.Millisecond

func (p *peers) compare(ctx context.Context, callers int, s scenario) error {
	var loads []*load
	for _, c := range p.clients {
		newCaller, closeIt, err := c.open(ctx, p.addrs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer closeIt()
		loads = append(loads, newLoad(s, callers, newCaller))
	}
	for round := range p.rounds {
		for i, c := range p.clients {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Fprintf(os.Stderr, "%d callers, %s, round %d of %d: %s\n", callers, s.name, round+1, p.rounds, c.name)
			if err := loads[i].run(ctx, warmUp, newResult()); err != nil {
				return fmt.Errorf("%s, warm-up: %w", c.name, err)
			}
			place := cell{callers, s.name, c.name}
			if p.results[place] == nil {
				p.results[place] = newResult()
			}
			if err := p.turn(ctx, loads[i], p.results[place]); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// turn measures one client once.
func (p *peers) turn(ctx context.Context, l *load, r *result) error {
	before, err := p.incrbys(ctx)
	if err != nil {
		return err
	}
	if err := l.run(ctx, p.during, r); err != nil {
		return err
	}
	after, err := p.incrbys(ctx)
	r.executed += after - before
	return err
}

// incrbys returns how many INCRBY the primaries have executed.
func (p *peers) incrbys(ctx context.Context) (n int64, err error) {
	for _, node := range p.servers.Nodes()[:3] {
		var stats string
		if err := node.Do(ctx, &stats, "INFO", "commandstats"); err != nil {
			return 0, err
		}
		for line := range strings.Lines(stats) {
			var calls int64
			if _, err := fmt.Sscanf(line, "cmdstat_incrby:calls=%d", &calls); err == nil {
				n += calls
			}
		}
	}
	return n, nil
}
