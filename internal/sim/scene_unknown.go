package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pipeline"
)

// unknownScenes are about commands of which servers have to be asked where their keys are,
// while none of them can be.
func unknownScenes() []scene {
	settled := func(s *Settings) bool { return s.Terms.Grace >= time.Second && s.Latency <= 5*time.Millisecond }
	return []scene{
		{
			kind: kind{name: "outage and a new command", weight: 4, least: 300 * time.Millisecond, most: 400 * time.Millisecond, after: time.Second},
			fits: both(tellsMap, settled), play: newCommandInOutage,
		},
		{
			kind: kind{name: "long outage and a new command", weight: 4, least: 6 * time.Second, most: 7 * time.Second, after: redials},
			fits: both(tellsMap, settled), play: newCommandInLongOutage,
		},
		{
			kind: kind{name: "a new command while writers wait", harmless: true, pauses: true, alone: true, weight: 24, least: 4 * time.Second, most: 4 * time.Second},
			fits: both(tellsMap, func(s *Settings) bool {
				return s.Terms.Grace > 0 && s.Latency <= 5*time.Millisecond && !s.Terms.FewCalls
			}),
			play: newCommandWhileWritersWait,
		},
	}
}

// rare counts by a command that nobody has used before; ok is whether there is one left.
func (a *attempt) rare(node int) (ok bool) {
	n := int(a.w.rare.Add(1)) - 1
	if n >= model.RareModules {
		return false
	}
	name := fmt.Sprintf("MODULE%d.INCRBY", model.Modules+n)
	at := func(key string) bool {
		owner := a.w.model.Owner(cluster.Slot(key))
		return owner != nil && owner.Index() == node
	}
	by, key := a.amount(), ""
	for i := 0; i < 1000 && at(strconv.FormatInt(by, 10)); i++ { // so that a guess is wrong
		by = a.amount()
	}
	for i := 0; i < 1000 && !at(key); i++ {
		key = fmt.Sprintf("%s%d.%d", sceneKeys, a.ID, i)
	}
	a.Commands = []Command{write(name, key, strconv.FormatInt(by, 10))}
	p := pipeline.New(a.w.client)
	a.do(p, []pipeline.Reply{p.Cmd(name, strconv.FormatInt(by, 10), key)})
	return true
}

// newCommandInOutage uses a new command while no node answers, for a moment. It does as
// well as one that is known.
func newCommandInOutage(p *play) {
	n := p.w.primary(p.f)
	if len(p.w.model.SlotsOf(n)) == 0 || p.otherPrimary(n) == nil {
		return
	}
	end := p.outage(p.w.nodes...)
	p.elapse(50 * time.Millisecond)
	var unknown, known *Call
	wait := p.beside(100, 2, module, 4*time.Second, func(a *attempt, i int) {
		if i == 0 && a.rare(n.Index()) {
			unknown = a.Call
			return
		}
		a.incr(p.keyAt(n.Index(), sceneKeys, i))
		known = a.Call
	})
	p.elapse(p.f.For)
	end()
	wait()
	if unknown != nil && known != nil {
		unknown.Sure = known.Err == nil
	}
}

// newCommandInLongOutage uses a new command when all nodes have been down for long.
func newCommandInLongOutage(p *play) {
	n := p.w.primary(p.f)
	if len(p.w.model.SlotsOf(n)) == 0 || p.otherPrimary(n) == nil {
		return
	}
	defer p.outage(p.w.nodes...)()
	i := 0
	p.again(p.f.For-1500*time.Millisecond, 100*time.Millisecond, "command", 50*time.Millisecond, func(a *attempt) {
		a.incr(p.keyAt(i%p.w.settings.Primaries, sceneKeys, i))
		i++
	})
	p.call(module, 5*time.Second, func(a *attempt) {
		if a.rare(n.Index()) {
			a.Soon = 4*p.w.settings.Terms.RoundTrip + 300*time.Millisecond + p.w.settings.Terms.Parting
		}
	})
	p.elapse(p.f.For)
}

// newCommandWhileWritersWait uses a new command while all nodes make writers wait, whose
// connections can be asked for nothing meanwhile. It waits, too.
func newCommandWhileWritersWait(p *play) {
	n, many := p.w.primary(p.f), 4*max(p.w.settings.Terms.Law.Most, leastConns(nil))
	if len(p.w.model.SlotsOf(n)) == 0 || p.otherPrimary(n) == nil {
		return
	}
	for _, other := range p.w.nodes {
		other.Pause(p.f.For, false)
		defer other.Unpause()
	}
	wait := p.beside(100, many*p.w.settings.Primaries, "command", 0, func(a *attempt, i int) {
		a.incr(p.keyAt(i%p.w.settings.Primaries, sceneKeys, i))
	})
	p.elapse(100 * time.Millisecond)
	p.call(module, 10*time.Second, func(a *attempt) {
		if a.rare(n.Index()) {
			a.Commands[0].Sure = true
		}
	})
	p.elapse(p.f.For)
	wait()
}
