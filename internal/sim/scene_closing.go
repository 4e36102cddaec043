package sim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// Scenes that are played where the client is closed among its callers: shortly before that,
// all servers begin to refuse commands, so that callers wait until they try again, or all but
// one fall silent, so that this one alone tells of the map.
const (
	closedWhileWaiting = "closed while calls wait"
	closedWhileAsking  = "closed while the map is asked for"
)

// beforeClosing is how long before that the scenes begin.
const (
	beforeClosing = 250 * time.Millisecond
	longBefore    = 3200 * time.Millisecond
)

// withClosing adds one of them to the schedule of most seeds whose client is closed early.
func withClosing(seed uint64, settings *Settings, s Schedule) Schedule {
	at, countersFirst := chooseClosing(seed, s)
	switch {
	case at == 0:
	case Only != closedWhileWaiting && !countersFirst && settings.Primaries >= 3 && tellsMap(settings):
		s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.overlaps(at-longBefore-2*healing, at+healing) }) // who is to contradict, answers
		s.add(&scene{kind: kind{name: closedWhileAsking, misleads: 1}, play: asksBeforeClosing}, settings, at-longBefore, longBefore+time.Second)
	case Only == closedWhileWaiting || chance(source(seed, ofScenes, 1), 2):
		s.add(&scene{kind: kind{name: closedWhileWaiting, harmless: true}, play: waitsForServers}, settings, at-beforeClosing, 3*beforeClosing)
	}
	return s
}

// add adds a scene to the schedule.
func (s *Schedule) add(sc *scene, settings *Settings, at, lasts time.Duration) {
	k := sc.played(settings)
	s.Faults = append(s.Faults, Fault{kind: &k, At: at, For: lasts})
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
}

// asksBeforeClosing lets the only server that answers tell of no slots but its own. Who has
// not been asked yet when the client is closed has not agreed.
func asksBeforeClosing(p *play) {
	n := p.w.primary(p.f)
	for i, other := range p.w.nodes {
		if other != n {
			defer p.impose(other, simnet.Conditions{Stall: simnet.Both})()
			defer p.beside(100+10*i, 2, "command", time.Second, func(a *attempt, j int) { a.sets(p.keyAt(i, "ca", 2*i+j)) })()
		}
	}
	n.Mislead(func(_ uint16, owner int) int {
		if owner == n.Index() {
			return owner
		}
		return -1
	}, false)
	defer p.undo(func() { n.Mislead(nil, false) })()
	p.elapse(longBefore / 3)
	p.call("sync", longBefore, (*attempt).sync)
	p.elapse(p.f.For)
}

// waitsForServers calls servers that refuse everything for a moment.
func waitsForServers(p *play) {
	for _, n := range p.w.nodes {
		n.Loading(p.f.For)
	}
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			p.callAs(100+i, "command", 0, func(a *attempt) { a.sets(p.keyAt(i%len(p.w.nodes), "cw", i)) })
		})
	}
	callers.Wait()
}
