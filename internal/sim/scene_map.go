package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/mediocregopher/radix/v4"
)

// mapScenes are about whose map of the slots is asked for, when, and which is believed.
func mapScenes() []scene {
	const gossips = 500 * time.Millisecond
	return []scene{
		{
			kind: kind{name: "stranger with great epochs", weight: 3, mute: true, least: time.Second, most: 3 * time.Second, after: time.Second,
				begin: restartedAs(model.Start{Stranger: true, Epoch: 1 << 20})},
			fits: tellsMap,
		},
		{
			kind: kind{name: "failover at once", moves: true, alone: true, weight: 8, least: 700 * time.Millisecond, most: 800 * time.Millisecond, after: redials},
			fits: both(tellsMap, near, hasReplicas), play: failoverAtOnce,
		},
		{
			kind: kind{name: "maps beside a silent node", dead: true, alone: true, weight: 8, least: 4 * time.Second, most: 5 * time.Second},
			fits: both(tellsMap, near), play: mapsBesideSilence,
		},
		{
			kind: kind{name: "maps that take their time", harmless: true, gentle: true, alone: true, weight: 6, least: 8 * time.Second, most: 8 * time.Second},
			fits: func(s *Settings) bool {
				return !s.NoCluster && !s.Config.Standalone && s.Dialing != stubborn && s.Config.Dialer.Timeout == 0
			},
			play: slowMaps,
		},
		{
			kind: kind{name: "one server, two names", harmless: true, misleads: 1, weight: 6, least: 400 * time.Millisecond, most: 500 * time.Millisecond, after: gossips},
			fits: both(tellsMap, func(s *Settings) bool { return s.DeadSeed }), play: twoNames,
		},
		{
			kind: kind{name: "moved behind deaf nodes", moves: true, harmless: true, weight: 5, least: 700 * time.Millisecond, most: 800 * time.Millisecond, after: gossips},
			fits: both(tellsMap, near), play: movedBehindDeaf,
		},
		{
			kind: kind{name: "which replica", harmless: true, alone: true, weight: 16, least: 10 * time.Millisecond, most: 20 * time.Millisecond, after: time.Second},
			fits: both(tellsMap, func(s *Settings) bool { return s.Replicas >= 2 && s.Latency <= 5*time.Millisecond }), play: whichReplica,
		},
		{
			kind: kind{name: "maps over connections that do not end", harmless: true, alone: true, weight: 12, least: time.Second, most: 1500 * time.Millisecond},
			fits: both(near, func(s *Settings) bool { return s.Dialing == stubborn }), play: mapsOverStubborn,
		},
		{
			kind: kind{name: "many slots without an owner", harmless: true, weight: 1, least: 4 * time.Second, most: 5 * time.Second},
			fits: both(tellsMap, near, func(s *Settings) bool { return s.Terms.Grace >= time.Second }), play: manySlots,
		},
	}
}

// failoverAtOnce lets a replica take over as soon as its primary is gone: the client finds
// out before anybody would wait for its regular refresh.
func failoverAtOnce(p *play) {
	n, r := p.w.primary(p.f), p.w.replica(p.f)
	if r == nil || len(p.w.model.SlotsOf(n)) == 0 {
		return
	}
	keys := make([]string, 8)
	for i := range keys {
		keys[i] = p.keyAt(n.Index(), sceneKeys, i)
	}
	defer p.outage(n)()
	again := func(until time.Duration) {
		i := 0
		p.again(until, 10*time.Millisecond, "short", 20*time.Millisecond, func(a *attempt) { a.incr(keys[i%4]); i++ })
	}
	again(100 * time.Millisecond)
	p.w.model.Failover(r, false)
	again(350 * time.Millisecond)
	p.beside(100, 4, "write", 120*time.Millisecond, func(a *attempt, i int) {
		a.Sure = true
		a.incr(keys[4+i])
	})()
	p.elapse(p.f.For)
}

// mapsBesideSilence calls a silent node with less time than the grace, which does not wait
// as soon as that is known, and fetches the map again and again.
func mapsBesideSilence(p *play) {
	n := p.w.primary(p.f)
	if len(p.w.model.SlotsOf(n)) == 0 {
		return
	}
	p.call("write", time.Second, func(a *attempt) { a.incr(p.keyAt(n.Index(), sceneKeys, 999)) }) // so that there are connections
	defer p.impose(n, simnet.Conditions{Stall: simnet.Both})()
	wait := p.beside(100, 1, "long", 3*time.Second, func(a *attempt, _ int) { a.incr(p.keyAt(n.Index(), sceneKeys, 0)) })
	defer wait()
	terms := &p.w.settings.Terms
	if !p.untilDown(n, 3*terms.Notice) {
		return
	}
	for i := range 4 {
		p.call("short", 400*time.Millisecond, func(a *attempt) {
			if terms.Grace >= time.Second {
				a.Soon = p.fewTrips() + 100*time.Millisecond + terms.Parting
			}
			a.incr(p.keyAt(n.Index(), sceneKeys, 1+i))
		})
	}
	time.Sleep(700 * time.Millisecond)                  // a refresh that began before it was known is over
	for i := 0; i < 12 && p.left() > time.Second; i++ { // beside another trouble each may take its whole time
		p.call("sync", time.Second, func(a *attempt) {
			a.Soon = p.fewTrips() + 100*time.Millisecond
			a.sync()
		})
	}
	p.elapse(p.f.For)
}

// slowMaps fetches the map from servers that take long for it, and less than a dial may.
func slowMaps(p *play) {
	for _, n := range p.w.nodes {
		n.Slow("cluster|slots", 2500*time.Millisecond)
		defer n.Slow("", 0)
	}
	p.call("sync", p.f.For, func(a *attempt) { // it may have to wait for a refresh that has begun
		a.Sure = true
		a.sync()
	})
}

// untilDown waits until the client holds the node for down, for so long at most.
func (p *play) untilDown(n *model.Node, most time.Duration) bool {
	for from := p.w.rec.now(); p.w.rec.now()-from < most; time.Sleep(10 * time.Millisecond) {
		for _, s := range p.w.client.Stats().Nodes {
			if s.Pool.Addr == p.w.reached(n) && s.Role == "primary" && (s.Pool.Suspect || s.Pool.Down) {
				return true
			}
		}
	}
	return false
}

// believing notes if the client, which knows the slot's owner, believes until the time
// that it is another one.
func (p *play) believing(slot uint16, until time.Duration) (wait func()) {
	owner := p.w.model.Owner(slot)
	var watching sync.WaitGroup
	if owner == nil || p.w.client.Primary(slot) != p.w.reached(owner) {
		return watching.Wait
	}
	watching.Go(func() {
		for p.w.rec.now()-p.f.At < until {
			time.Sleep(5 * time.Millisecond)
			addr := p.w.client.Primary(slot)
			if p.w.model.Owner(slot) != owner || p.w.user.client.Load() == nil {
				return
			}
			if addr != p.w.reached(owner) {
				p.w.rec.note(func(h *History) { h.Unlearned = append(h.Unlearned, Belief{p.w.rec.now(), slot, addr}) })
				return
			}
		}
	})
	return watching.Wait
}

// twoNames lets a client reach one node only, under two names, which knows of no slots but
// its own. It is one witness.
func twoNames(p *play) {
	n := p.w.primary(p.f)
	other := p.otherPrimary(n)
	if other == nil {
		return
	}
	alias := nobody + "6379"
	host := p.w.net.Listen(alias, p.w.model.Serve(n))
	for _, m := range p.w.nodes {
		if m != n {
			defer p.impose(m, simnet.Conditions{Refuse: true})()
		}
	}
	n.Mislead(func(_ uint16, owner int) int {
		if owner == n.Index() {
			return owner
		}
		return -1
	}, false)
	wait := p.believing(p.w.model.SlotsOf(other)[0], p.f.For-20*time.Millisecond)
	for range 3 {
		p.call("sync", time.Second, (*attempt).sync)
	}
	p.elapse(p.f.For)
	wait()
	n.Mislead(nil, false)
	host.Kill()
}

// movedBehindDeaf moves a slot, of which most nodes do not hear, to one that can be asked
// for nothing. What the node which it leaves has said of it is true all the same.
func movedBehindDeaf(p *play) {
	from := p.w.primary(p.f)
	to := p.otherPrimary(from)
	if to == nil {
		return
	}
	deaf := 0
	for _, n := range p.w.nodes {
		primary := p.w.model.Primary(n) == nil
		if n == from || n == to || primary && deaf > 0 {
			continue // most primaries hear of it
		}
		if primary {
			deaf++
		}
		n.Deaf(true)
		defer n.Deaf(false)
	}
	key := p.keyAt(from.Index(), sceneKeys, 0)
	slot := cluster.Slot(key)
	for range 4 { // so that there is a connection to it
		p.call("write", time.Second, func(a *attempt) { a.incr(p.keyAt(to.Index(), sceneKeys, p.calls)) })
	}
	if !p.w.model.Migrate(slot, to) {
		return
	}
	defer p.impose(to, simnet.Conditions{Refuse: true})()
	p.w.model.FinishMigration(slot)
	p.call("write", time.Second, func(a *attempt) { a.incr(key) })
	wait := p.believing(slot, p.f.For-50*time.Millisecond)
	for range 4 {
		p.call("sync", time.Second, (*attempt).sync)
	}
	p.elapse(p.f.For)
	wait()
}

// whichReplica reads a key from replicas again and again, each time by another server's map.
func whichReplica(p *play) {
	key := p.keyAt(p.w.primary(p.f).Index(), steadyKeys, 0)
	for range 8 {
		p.call("read", time.Second, func(a *attempt) {
			a.Err = a.w.client.DoSecondary(a.ctx, radix.Cmd(new(radix.Maybe), "GET", key))
		})
		p.call("sync", time.Second, (*attempt).sync)
	}
}

// mapsOverStubborn fetches the map again and again, each time over a connection that does
// not end when it is closed.
func mapsOverStubborn(p *play) {
	p.again(p.f.For-200*time.Millisecond, 50*time.Millisecond, "sync", time.Second, func(a *attempt) {
		a.Soon = p.fewTrips() + 100*time.Millisecond
		a.sync()
	})
	p.elapse(p.f.For)
}

// lostKeys returns keys in as many slots, none of which is that of a key that callers use.
var lostKeys = sync.OnceValue(func() (keys []string) {
	var taken [cluster.SlotCount]bool
	for i := range counterKeys {
		for _, key := range []string{"p:%d", "c:%d", "s:%d", "d:%d", "l:%d", "big:%d"} {
			taken[cluster.Slot(fmt.Sprintf(key, i))] = true
		}
		taken[cluster.Slot(fmt.Sprintf("v:{%d.%d}", i/6, i%6))] = true
	}
	for i := 0; len(keys) < cluster.SlotCount/2; i++ {
		key := fmt.Sprint("lost:", i)
		if at := &taken[cluster.Slot(key)]; !*at {
			*at, keys = true, append(keys, key)
		}
	}
	return keys
})

// manySlots lets servers refuse commands for thousands of slots, and then one of them those
// for all of its slots, of which each call knows since when.
func manySlots(p *play) {
	refuse := func(n *model.Node) model.Interposer {
		return func(args [][]byte, honest []byte, _ int) ([]byte, bool) {
			if len(args) != 2 || len(args[1]) < 5 || string(args[1][:5]) != "lost:" {
				return honest, false
			}
			refusal := []byte("-CLUSTERDOWN Hash slot not served\r\n")
			p.w.failed(n, args, refusal)
			return refusal, false
		}
	}
	for _, n := range p.w.nodes {
		n.Interpose(refuse(n))
		defer n.Interpose(nil)
	}
	slot := 0
	some := func(many int) {
		p.call("many", 2*p.w.settings.Terms.RoundTrip+time.Millisecond, func(a *attempt) {
			a.Large = true
			all := pipeline.New(a.w.client)
			for range many {
				all.Cmd("GET", lostKeys()[slot%len(lostKeys())])
				slot++
			}
			a.Err = all.Do(a.ctx)
		})
	}
	for range 7 {
		some(800)
	}
	n := p.w.primary(p.f)
	n.Loading(p.f.For)
	soon := p.w.settings.Terms.Grace + 500*time.Millisecond
	for i := 0; p.w.rec.now()-p.f.At < p.f.For-time.Second; i++ {
		if p.w.rec.now()-p.f.At <= soon { // others have succeeded on some
			some(30)
		}
		p.call("read", 300*time.Millisecond+p.fewTrips(), func(a *attempt) {
			if p.w.rec.now()-p.f.At > soon {
				a.Soon = p.fewTrips() + 100*time.Millisecond
			}
			a.get(p.keyAt(n.Index(), sceneKeys, i))
		})
		time.Sleep(100 * time.Millisecond)
	}
	p.elapse(p.f.For)
}
