// Package load measures: it starts clusters, or finds one, puts networks before them, and lets
// callers send the requests of a scenario, in a closed loop or at a constant rate.
//
// It decides nothing about which measurements are made, and prints nothing.
package load

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/network"
	"github.com/redislanes/redislanes/bench/internal/usage"
)

const (
	openTimeout = 90 * time.Second
	// fillTimeout is how long a pool may take to dial: 100 connections over 160 ms need 5 s.
	fillTimeout = 15 * time.Second
	// grace is how long requests that have begun may take beyond a phase's end.
	grace = 30 * time.Second
)

// An Endpoint is a client that is connected, and its callers. It is used by one
// goroutine at a time.
type Endpoint struct {
	load    settings.Load
	client  *cluster.Client
	callers []*caller

	dialer  radix.Dialer     // of what follows
	servers []string         // addresses of all primaries, past any network
	probed  string           // address of one of them, over the network
	network *network.Network // nil: none
}

// Open connects an endpoint to its cluster, over its network, and prepares what it reads.
func (t *Targets) Open(ctx context.Context, l settings.Load) (*Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	target, err := t.target(ctx, l.Primaries)
	if err != nil {
		return nil, err
	}
	keys := newKeySet(l)
	if scenarioOf(l).reads() {
		if err := t.prepareOnce(ctx, target, l, keys); err != nil {
			return nil, err
		}
	}
	c := cluster.Config{Pool: l.Pool.Config(), Dialer: t.dialer}
	e := &Endpoint{load: l, dialer: t.plainDialer(), servers: target.addrs, probed: target.addrs[0]}
	addrs := target.addrs
	if l.HasNetwork() {
		n, err := t.network(ctx, target, l)
		if err != nil {
			return nil, err
		}
		addrs, c.AddrMap = n.Addrs(), n.AddrMap
		e.network, e.probed = n, n.AddrMap(e.probed)
	}
	if e.client, err = c.New(ctx, addrs); err != nil {
		return nil, err
	}
	most := 0
	for _, p := range l.Phases() {
		most = max(most, p.Callers)
	}
	for i := range most {
		e.callers = append(e.callers, newCaller(e.client, l, keys, i))
	}
	return e, nil
}

// Close closes the client.
func (e *Endpoint) Close() error { return e.client.Close() }

// WarmUp lets the callers of the first phase send for a while, and waits until the pools have
// all their connections: one that still dials would be measured as a smaller one. What fails
// then is no error: it will in the measurement, where it is counted.
func (e *Endpoint) WarmUp(ctx context.Context) error {
	if e.load.WarmUp.Duration <= 0 {
		return ctx.Err()
	}
	warm := settings.Step{Callers: e.load.Phases()[0].Callers, For: e.load.WarmUp}
	e.run(ctx, warm, &recorder{result: NewResult()})
	_ = closed.Connect(ctx, e.client, fillTimeout)
	return ctx.Err()
}

// Measure runs the phases of one turn. When the context ends it returns what was
// measured until then, the last phase as a partial one.
func (e *Endpoint) Measure(ctx context.Context) []*Result {
	var all []*Result
	origin := time.Now()
	for _, phase := range e.load.Phases() {
		if ctx.Err() != nil {
			break
		}
		all = append(all, e.measure(ctx, phase, origin))
	}
	return all
}

func (e *Endpoint) measure(ctx context.Context, phase settings.Step, origin time.Time) *Result {
	r := NewResult()
	r.Callers = phase.Callers
	probe := e.dialProbe(ctx)
	defer probe.close()
	probe.idle(ctx, r.IdleTrips)
	runtime.GC()
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	var watchers sync.WaitGroup
	servers, machine := e.serverCounts(ctx), e.machineUse(ctx)
	r.Use.count(e.client.Stats(), -1)
	var memory, memoryAfter runtime.MemStats
	runtime.ReadMemStats(&memory)
	cpu, began := usage.CPU(), time.Now()
	watchers.Go(func() { r.Use.watch(watching, e.client, origin) })
	watchers.Go(func() { probe.loaded(watching, r.LoadedTrips) })

	e.run(ctx, phase, &recorder{result: r})

	r.Took, r.CPU = time.Since(began), usage.CPU()-cpu
	runtime.ReadMemStats(&memoryAfter)
	stop()
	watchers.Wait()
	r.Use.count(e.client.Stats(), 1)
	r.Machine = e.machineUse(ctx).since(machine)
	r.Servers = serverUse(servers, e.serverCounts(ctx), r.Took)
	r.Mallocs = memoryAfter.Mallocs - memory.Mallocs
	r.Partial = ctx.Err() != nil
	return r
}
