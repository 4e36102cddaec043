package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// turn measures one client once.
func (p *peers) turn(ctx context.Context, l *load, r *result) error {
	busyBefore, _ := usage.Machine(ctx)
	cpuBefore := usage.CPU()
	before, err := p.ask(ctx)
	if err != nil {
		return err
	}
	if err := l.run(ctx, p.during, r); err != nil {
		return err
	}
	after, err := p.ask(ctx)
	r.executed += after.incrbys - before.incrbys
	r.servers += after.cpu - before.cpu
	busy, _ := usage.Machine(ctx)
	r.others += max(0, busy-busyBefore-(usage.CPU()-cpuBefore)-(after.cpu-before.cpu))
	return err
}

// A served is what the servers have done since they started, by their own account.
type served struct {
	incrbys int64         // that the primaries have executed
	cpu     time.Duration // of primaries and replicas
}

// ask returns what the servers have done so far.
func (p *peers) ask(ctx context.Context) (all served, err error) {
	for i, node := range p.servers.Nodes() {
		var info string
		if err := node.Do(ctx, &info, "INFO", "everything"); err != nil {
			return served{}, err
		}
		one := servedBy(info)
		all.cpu += one.cpu
		if i < p.primaries {
			all.incrbys += one.incrbys
		}
	}
	return all, nil
}

// servedBy reads the reply to INFO.
func servedBy(info string) (s served) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			seconds, _ := strconv.ParseFloat(value, 64)
			s.cpu += time.Duration(seconds * float64(time.Second))
		case "cmdstat_incrby":
			value, _, _ = strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			s.incrbys, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return s
}
