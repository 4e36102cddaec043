package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
	"github.com/redislanes/redislanes/bench/internal/usage"
)

// A load is callers in a closed loop.
type load struct {
	scenario scenario
	callers  []func(context.Context) error
}

func newLoad(s scenario, callers int, opened *session) *load {
	l := &load{scenario: s}
	newCaller := opened.deciding
	switch {
	case s.reading:
		newCaller = opened.reading
	case newCaller == nil:
		newCaller = func() request { return opened.counting(keys.TTL).checked() }
	}
	for i := range callers {
		send, random := newCaller(), rand.New(rand.NewPCG(uint64(i), 0))
		var drawn []string
		l.callers = append(l.callers, func(ctx context.Context) error {
			drawn = s.draw(drawn, random)
			return send(ctx, drawn)
		})
	}
	return l
}

// run lets the callers send, and returns what they did.
func (l *load) run(ctx context.Context, during time.Duration) (turn, error) {
	calls := countCalls()
	r, err := closed.Run(ctx, l.callers, during)
	calls = countCalls().minus(calls)
	return turn{
		Keys: l.scenario.keys(), Requests: r.Requests, Took: r.Took, CPU: r.CPU, Mallocs: r.Mallocs, Allocated: r.Allocated,
		Reads: calls.reads, Writes: calls.writes, P50: r.At(50), P99: r.At(99), P999: r.At(99.9),
	}, err
}

// ioCalls are system calls that read or write, of the whole process. They are the kernel's own
// count, which costs the measured clients nothing. Waiting (epoll, futex) is not among them.
type ioCalls struct{ reads, writes int64 }

// countCalls returns those of this process so far; zero where the kernel does not tell.
func countCalls() (c ioCalls) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return ioCalls{}
	}
	var ignored int64
	_, _ = fmt.Sscanf(string(text), "rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d", &ignored, &ignored, &c.reads, &c.writes)
	return c
}

func (c ioCalls) minus(d ioCalls) ioCalls { return ioCalls{c.reads - d.reads, c.writes - d.writes} }

// turn measures one client once.
func (p *peers) turn(ctx context.Context, l *load, of cell, round int) (t turn, err error) {
	busy, _ := usage.Machine(ctx)
	cpu := p.cpu(ctx)
	before, err := p.ask(ctx)
	if err != nil {
		return t, err
	}
	if t, err = l.run(ctx, p.during); err != nil {
		return t, err
	}
	after, err := p.ask(ctx)
	busyAfter, _ := usage.Machine(ctx)
	t.TLS, t.Callers, t.Scenario, t.Client, t.Round = of.tls, of.callers, of.scenario, of.client, round
	t.Executed, t.Servers = after.IncrBys-before.IncrBys, after.CPU-before.CPU
	t.Others = max(0, busyAfter-busy-(p.cpu(ctx)-cpu)-t.Servers)
	return t, err
}

// cpu returns what the clients and the network have used so far.
func (p *peers) cpu(ctx context.Context) (used time.Duration) {
	if p.network != nil {
		used = usage.Of(ctx, p.network.ID())
	}
	return used + usage.CPU()
}

// ask returns what the servers have done so far, the CPU time of primaries and replicas and the
// commands of primaries.
func (p *peers) ask(ctx context.Context) (all usage.Server, err error) {
	for i, node := range p.servers.Nodes() {
		var info string
		if err := node.Do(ctx, &info, "INFO", "everything"); err != nil {
			return all, err
		}
		one, _ := usage.ParseInfo(info)
		all.CPU += one.CPU
		if i < p.primaries {
			all.IncrBys += one.IncrBys
		}
	}
	return all, nil
}

var requestsPerSecond = regexp.MustCompile(`([0-9.]+) requests per second`)

// limitOf returns how many commands a second redis-benchmark makes of the cluster,
// 32 in a pipeline, if every other one is INCRBY and EXPIRE: what its servers can do
// beside a client in C on the same cores.
func limitOf(ctx context.Context, t target, ca string) (float64, error) {
	host, port, err := net.SplitHostPort(t.addrs[0])
	if err != nil {
		return 0, err
	}
	args := []string{"-h", host, "-p", port, "--cluster", "--threads", "2", "-P", "32", "-c", "50", "-n", "1500000", "-q"}
	if t.tls != nil {
		args = append(args, "--tls", "--cacert", ca)
	}
	var seconds float64 // of one INCRBY and one EXPIRE
	// {tag} stands for one that is in a slot of the node.
	for _, command := range [][]string{{"INCRBY", "limit:{tag}", "1"}, {"EXPIRE", "limit:{tag}", "60"}} {
		out, err := exec.CommandContext(ctx, "redis-benchmark", slices.Concat(args, command)...).CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("redis-benchmark: %w\n%s", err, out)
		}
		all := requestsPerSecond.FindAllSubmatch(out, -1)
		if len(all) == 0 {
			return 0, fmt.Errorf("redis-benchmark: no rate in %q", out)
		}
		rate, err := strconv.ParseFloat(string(all[len(all)-1][1]), 64)
		if err != nil {
			return 0, err
		}
		seconds += 1 / rate
	}
	return 2 / seconds, nil
}
