package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/internal/servers"
)

// peers is one run.
type peers struct {
	settings
	servers *servers.Cluster
	addrs   []string // of the primaries
	limit   float64  // commands a second of redis-benchmark; 0: not measured
	results map[cell]*result
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	p := &peers{results: make(map[cell]*result)}
	if err := p.parse(os.Args[1:]); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := p.start(ctx); err != nil {
		return err
	}
	defer p.servers.Close()
	printMachine()
	if p.large {
		return p.measureLarge(ctx)
	}
	if p.limited {
		var err error
		if p.limit, err = limitOf(ctx, p.addrs[0]); err != nil {
			return err
		}
		fmt.Printf("redis-benchmark -P 32: %.0f commands/s\n", p.limit)
	}
	stopProfiles, err := p.profile()
	if err != nil {
		return err
	}
	if err := p.measure(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if err := stopProfiles(); err != nil {
		return err
	}
	p.report(os.Stdout)
	return nil
}

func (p *peers) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	started, err := servers.LaunchCluster(ctx, servers.Options{Primaries: p.primaries, Replicas: p.replicas})
	if err != nil {
		return err
	}
	p.servers, p.addrs = started, started.Addrs()[:p.primaries]
	return nil
}

func printMachine() {
	server, _ := servers.Binary()
	version, _ := exec.Command(server, "--version").Output()
	fmt.Printf("%s, %s/%s, %d CPUs, %s; %s", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version(), version)
}

// measure lets each client have its turn in each round, so that what the machine
// does meanwhile meets all of them.
func (p *peers) measure(ctx context.Context) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	for _, callers := range p.callers {
		for _, s := range p.scenarios {
			if err := p.compare(ctx, callers, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle waits until the cluster is at rest: replicas copy their primaries when
// they have just started.
func (p *peers) settle(ctx context.Context) error {
	for _, node := range p.servers.Nodes()[:p.primaries] {
		for synced := false; !synced; {
			var info string
			if err := node.Do(ctx, &info, "INFO", "replication"); err != nil {
				return err
			}
			synced = strings.Count(info, "state=online") == p.replicas
		}
	}
	return nil
}

const warmUp = 300 * time.Millisecond

func (p *peers) compare(ctx context.Context, callers int, s scenario) error {
	var loads []*load
	for _, c := range p.clients {
		opened, err := c.open(ctx, p.addrs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer opened.close()
		loads = append(loads, newLoad(s, callers, opened))
	}
	for round := range p.rounds {
		// In another order each time: who comes first finds servers that have just
		// started, or those that the one before has left busy.
		for _, i := range rand.New(rand.NewPCG(uint64(round), uint64(callers))).Perm(len(p.clients)) {
			c := p.clients[i]
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
	for _, node := range p.servers.Nodes()[:p.primaries] {
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
