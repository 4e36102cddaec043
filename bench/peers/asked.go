package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// turn measures one client once.
func (p *peers) turn(ctx context.Context, l *load, of cell, round int) (t turn, err error) {
	busy, _ := usage.Machine(ctx)
	cpu := usage.CPU()
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
	t.Executed, t.Servers = after.incrbys-before.incrbys, after.cpu-before.cpu
	t.Others = max(0, busyAfter-busy-(usage.CPU()-cpu)-t.Servers)
	return t, err
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
