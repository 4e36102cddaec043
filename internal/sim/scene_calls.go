package sim

import (
	"strconv"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// What scenes have in common: their calls, and what they do to nodes.

// sceneKeys is what keys begin with that only scenes count.
const sceneKeys = "scene:"

// tellsMap fits clusters of several primaries whose client asks for the map.
func tellsMap(s *Settings) bool {
	return !s.NoCluster && !s.Config.Standalone && s.Primaries >= 2 && s.Dialing != stubborn
}

// near fits networks in which a client finds things out sooner than anybody notices.
func near(s *Settings) bool { return s.Latency <= time.Millisecond }

// both fits what both fit.
func both(fits ...func(s *Settings) bool) func(s *Settings) bool {
	return func(s *Settings) bool {
		for _, f := range fits {
			if !f(s) {
				return false
			}
		}
		return true
	}
}

// hasReplicas fits clusters of which each primary has a replica.
func hasReplicas(s *Settings) bool { return s.Replicas >= 1 }

// fewTrips is how long a call may take for which nothing has to be waited.
func (p *play) fewTrips() time.Duration { return 12*p.w.settings.Terms.RoundTrip + 20*time.Millisecond }

// incr counts a key.
func (a *attempt) incr(key string) {
	by, total := a.amount(), int64(0)
	a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
	a.perform(radix.FlatCmd(&total, "INCRBY", key, by), number(&total))
}

// get reads a key that nobody sets.
func (a *attempt) get(key string) {
	value := ""
	maybe := radix.Maybe{Rcv: &value}
	a.Commands = []Command{read("GET", key)}
	a.Commands[0].Slot = -1
	a.perform(radix.Cmd(&maybe, "GET", key), orNull(&maybe, &value))
}

// sync fetches the map of the slots.
func (a *attempt) sync() {
	a.w.syncs.Add(1)
	a.Err = a.w.client.Sync(a.ctx)
}

// beside makes calls beside each other, the first of which has the number from, and
// returns what waits for them.
func (p *play) beside(from, n int, name string, within time.Duration, run func(a *attempt, i int)) (wait func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { p.callAs(from+i, name, within, func(a *attempt) { run(a, i) }) })
	}
	return all.Wait
}

// again makes calls one behind the other until so long after the scene's beginning.
func (p *play) again(until, pause time.Duration, name string, within time.Duration, run func(a *attempt)) {
	for p.w.rec.now()-p.f.At < until {
		p.call(name, within, run)
		time.Sleep(pause)
	}
}

// otherPrimary returns a primary that the given one is not; nil: there is none.
func (p *play) otherPrimary(than *model.Node) *model.Node {
	for i := range p.w.nodes {
		n := p.w.nodes[(i+int(p.f.With%uint64(len(p.w.nodes))))%len(p.w.nodes)]
		if n != than && n.Up() && p.w.model.Primary(n) == nil && len(p.w.model.SlotsOf(n)) > 0 {
			return n
		}
	}
	return nil
}

// replicasOf returns the replicas of a primary.
func (p *play) replicasOf(primary *model.Node) (all []*model.Node) {
	for _, n := range p.w.nodes {
		if p.w.model.Primary(n) == primary {
			all = append(all, n)
		}
	}
	return all
}

// alone reports whether no other fault is about while the scene is played.
func (p *play) alone() bool {
	others := 0
	for _, f := range p.w.schedule.Faults {
		if f.overlaps(p.f.At-2*healing, p.f.over()+healing) {
			others++
		}
	}
	return others == 1
}

// outage makes nodes refuse connections, for the rest of the scene's time or until it ends, and
// ends those that they have.
func (p *play) outage(nodes ...*model.Node) (end func()) {
	var ends []func()
	for _, n := range nodes {
		ends = append(ends, p.impose(n, simnet.Conditions{Refuse: true}))
		p.w.net.Cut(us, p.w.reached(n), 1)
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
