package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
)

// namedScenes are about shards whose nodes share one name in the DNS.
func namedScenes() []scene {
	return []scene{{
		kind: kind{name: "a name leads to another node", moves: true, alone: true, weight: 20, least: 9 * time.Second, most: 9 * time.Second, after: time.Second},
		fits: func(s *Settings) bool { return s.Names.Shared && s.Terms.Grace >= 0 && s.Dialing != stubborn }, names: true,
		primary: true, play: nameLeadsElsewhere,
	}}
}

// nameLeadsElsewhere has a replica take over that has the same name as the primary, which
// the name may go on to lead to for a while. Connections to the old one stay open, and it
// sends whoever calls it to its own name. As soon as that leads to the new one, calls succeed.
func nameLeadsElsewhere(p *play) {
	n, r := p.w.primary(p.f), p.w.replica(p.f)
	if r == nil || p.w.model.Primary(n) != nil {
		return
	}
	p.crowd(n.Index(), max(p.w.settings.Terms.Law.Least, 4), time.Second)
	p.call("lent", time.Second, func(a *attempt) { a.setsAlone(p.keyAt(n.Index(), sceneKeys, 0)) })
	if p.f.With%2 == 0 {
		p.w.model.FailoverGracefully(r, 200*time.Millisecond)
	} else {
		p.w.model.Failover(r, false)
	}
	const settles = 1500 * time.Millisecond
	well := p.w.rec.now() + 200*time.Millisecond + p.w.settings.Names.Late + settles
	for i := 0; p.left() > 2*time.Second; i++ {
		key := p.keyAt(n.Index(), sceneKeys, i)
		p.call("command", 2*time.Second, func(a *attempt) {
			since := p.w.rec.now() > well
			defer func() {
				// A dedicated connection may lead to a node that never had the slot, of which MOVED tells.
				if a.Sure = since && (!redirected(a.Err) || toItself(a.Err)); a.Sure {
					a.Soon = p.fewTrips() + 500*time.Millisecond
				}
			}()
			switch i % 4 {
			case 0:
				a.setsAlone(key)
			case 1:
				a.hit(p.keyAt(n.Index(), onceKeys, i))
			case 2:
				a.get(key)
			default:
				a.incr(key)
			}
		})
		time.Sleep(100 * time.Millisecond)
	}
}

// toItself reports whether a server redirects to the address at which it was called.
func toItself(err error) bool {
	var by *redislanes.Error
	_, to, _ := strings.Cut(err.Error(), "MOVED ")
	words := strings.Fields(to)
	return errors.As(err, &by) && len(words) > 1 && words[1] == by.Addr
}
