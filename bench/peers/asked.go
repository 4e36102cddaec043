package main

import (
	"context"

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
	t.Executed, t.Servers = after.IncrBys-before.IncrBys, after.CPU-before.CPU
	t.Others = max(0, busyAfter-busy-(usage.CPU()-cpu)-t.Servers)
	return t, err
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
