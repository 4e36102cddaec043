package sim

import (
	"slices"
	"sync"
	"time"
)

// closedWhileWaiting is the name of a scene that is played where the client is closed among
// its callers: shortly before that, all servers begin to refuse commands, so that callers
// wait until they try again.
const closedWhileWaiting = "closed while calls wait"

// beforeClosing is how long before that the scene begins.
const beforeClosing = 250 * time.Millisecond

// withWaits adds the scene to the schedule of half of the seeds whose client is closed early.
func withWaits(seed uint64, s Schedule) Schedule {
	at, _ := chooseClosing(seed, s)
	if at == 0 || !chance(source(seed, ofScenes, 1), 2) && Only != closedWhileWaiting {
		return s
	}
	k := (&scene{
		kind: kind{name: closedWhileWaiting, harmless: true},
		play: waitsForServers,
	}).played(new(Settings))
	s.Faults = append(s.Faults, Fault{kind: &k, At: at - beforeClosing, For: 3 * beforeClosing})
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	return s
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
