package sim

import (
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// Scenes of hits that wait for others on their key.

func hitScenes() []scene {
	several := func(s *Settings) bool { return s.Primaries > 1 && !s.NoCluster }
	mapped := func(s *Settings) bool { return !s.Terms.Blind && s.Dialing != stubborn } // else the key may be another node's meanwhile, as far as is known
	silent := func(name string, weight int, lasts time.Duration) kind {
		return kind{name: name, local: true, dead: true, alone: true, weight: weight, least: lasts, most: lasts}
	}
	return []scene{
		{kind: silent("hits behind one to a silent node", 5, 6*time.Second), primary: true, fits: mapped, play: behindSilentNode},
		{kind: silent("keys of a call to a silent node, too", 5, 1300*time.Millisecond), primary: true, fits: several, play: besideSilentNode},
		{kind: silent("keys move to a node that falls silent", 5, 1500*time.Millisecond), primary: true, fits: several, play: movedToSilentNode},
	}
}

// stall makes the scene's node say nothing.
func (p *play) stall() (end func()) {
	return p.impose(p.w.node(p.f), simnet.Conditions{Stall: simnet.Both})
}

// hitTwice counts a key twice at once, so that further hits on it wait.
func (a *attempt) hitTwice(key string) {
	a.hitAll(a.hitting(key, a.amount(), onceTTL), a.hitting(key, a.amount(), onceTTL))
}

// behindSilentNode has short calls hit a key of which hits are on their way to a node that
// does not answer, whose caller has time.
func behindSilentNode(p *play) {
	n := p.w.node(p.f)
	// Of a server that was never reached nobody knows when it is silent.
	p.call("hits", 0, func(a *attempt) { a.hit(p.keyAt(n.Index(), onceKeys, 1)) })
	var calls sync.WaitGroup
	defer calls.Wait()
	defer p.stall()()
	key := p.keyAt(n.Index(), onceKeys, 0)
	calls.Go(func() { p.callAs(900, "hits", 10*time.Second, func(a *attempt) { a.hitTwice(key) }) })
	short := 4*p.w.settings.Terms.RoundTrip + 500*time.Millisecond + p.w.settings.Terms.Parting
	for i := 1; p.w.rec.now() < p.f.until()-2*short; i++ {
		time.Sleep(50 * time.Millisecond)
		calls.Go(func() {
			p.callAs(i, "hits", short, func(a *attempt) { a.hitAll(a.hitting(key, a.amount(), onceTTL)) })
		})
	}
	time.Sleep(p.f.until() - p.w.rec.now())
}

// besideSilentNode has calls wait for keys of one node behind calls that hit keys of a
// silent node, too.
func besideSilentNode(p *play) {
	n, well := p.w.node(p.f), p.another(p.w.node(p.f))
	if well == nil || p.w.model.Primary(n) != nil {
		return
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	defer p.stall()()
	for i := range 4 {
		here, there := p.keyAt(well.Index(), onceKeys, i), p.keyAt(n.Index(), onceKeys, 100+i)
		calls.Go(func() {
			p.callAs(100+i, "hits", 0, func(a *attempt) {
				a.hitAll(a.hitting(here, a.amount(), onceTTL), a.hitting(here, a.amount(), onceTTL), a.hitting(there, a.amount(), onceTTL))
			})
		})
		calls.Go(func() {
			time.Sleep(p.w.settings.Latency / 2)
			p.callAs(200+i, "hits", 5*time.Second, func(a *attempt) { a.hitAll(a.hitting(here, a.amount(), onceTTL)) })
		})
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(p.f.until() - p.w.rec.now())
}

// movedToSilentNode has callers hit two keys of a node all the time, which so travel
// together, until one of them is another node's, which falls silent.
func movedToSilentNode(p *play) {
	n, well := p.w.node(p.f), p.another(p.w.node(p.f))
	if well == nil || p.w.model.Primary(n) != nil {
		return
	}
	here, there := p.keyAt(well.Index(), onceKeys, 0), p.keyAt(well.Index(), onceKeys, 1)
	trip := p.w.settings.Terms.RoundTrip
	until := p.w.rec.now() + 12*trip
	var calls sync.WaitGroup
	defer calls.Wait()
	calls.Go(func() {
		p.callAs(900, "hits", 5*time.Second, func(a *attempt) {
			a.hitAll(a.hitting(here, a.amount(), onceTTL), a.hitting(here, a.amount(), onceTTL),
				a.hitting(there, a.amount(), onceTTL), a.hitting(there, a.amount(), onceTTL))
		})
	})
	time.Sleep(p.w.settings.Latency / 2)
	for c := range 4 {
		key := [...]string{here, there}[c%2]
		calls.Go(func() {
			for i := 0; p.w.rec.now() < until && i < 100; i++ {
				p.callAs(100*(1+c)+i, "hits", 5*time.Second, func(a *attempt) { a.hitTwice(key) })
			}
		})
	}
	time.Sleep(2 * trip)
	if slot := model.Slot([]byte(there)); p.w.model.Migrate(slot, n) {
		p.w.model.MoveKeys(slot, 0)
		p.w.model.FinishMigration(slot)
	}
	time.Sleep(6 * trip)
	defer p.stall()()
	time.Sleep(p.f.until() - p.w.rec.now())
}
