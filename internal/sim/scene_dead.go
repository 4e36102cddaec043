package sim

import (
	"sync"
	"time"
)

// deadScenes are about networks that forget connections without a word.
func deadScenes() []scene {
	return []scene{{
		kind: kind{name: "all connections of a node die silently", quiet: true, alone: true, weight: 16, least: 5 * time.Second, most: 5 * time.Second},
		fits: both(near, func(s *Settings) bool {
			return s.Dialing == wellBehaved && !s.Terms.FewCalls && s.options().MaxAge == 0
		}),
		primary: true, play: silentDeath,
	}}
}

// shortly is the deadline of callers who find out that connections are dead.
const shortly = 100 * time.Millisecond

// silentDeath loses what all connections of a node carry, in both directions, and whatever
// is sent over them later. No side learns of it, and new connections are as good as ever. It
// takes callers one deadline to find out.
func silentDeath(p *play) {
	n, l := p.w.primary(p.f), p.w.settings.Terms.Law // not the node: behind a failover, most calls go elsewhere
	addr := p.w.reached(n)
	for range 2 {
		p.crowd(n.Index(), max(l.Least, 4), time.Second)
	}
	p.w.net.Vanish(us, addr, 1)
	defer p.w.net.Forget(us, addr)
	served := p.w.rec.now() + 2*shortly
	var callers sync.WaitGroup
	for c := range 1 + int(p.f.With%4) {
		callers.Go(func() {
			for i := 1 + 200*c; p.left() > 1500*time.Millisecond; i++ {
				key := p.keyAt(n.Index(), "u:", 1000+i)
				p.callAs(100+i, "push", shortly, func(a *attempt) {
					a.Sure = p.w.rec.now() >= served
					a.pushTo(key)
				})
				time.Sleep(25 * time.Millisecond)
			}
		})
	}
	callers.Wait()
}
