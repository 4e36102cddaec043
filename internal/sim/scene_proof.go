package sim

import "time"

// proofScenes are of connections that have to prove themselves.
func proofScenes() []scene {
	return []scene{{
		kind: kind{name: "proofs that fail, and connections that take their time to end", alone: true, weight: 24, least: 6 * time.Second, most: 6 * time.Second},
		// Behind a proxy, the handshake is a PING, too. The only connection may end because of
		// others, and one that is replaced because of its age has its place until it has ended.
		fits: func(s *Settings) bool {
			t := s.Terms
			return s.Dialing != stubborn && t.RoundTrip <= 12*time.Millisecond && t.MaxConns >= 4 && s.options().MaxBackoff == quickly && s.options().MaxAge == 0 && !s.Proxy
		},
		play: proofsThatFail,
	}}
}

// quickly is a MaxBackoff with which a server that is back is reached in no time, however
// long it was away.
const quickly = 200 * time.Millisecond

// proofsThatFail has a node refuse dials, and then leave the PINGs unanswered by which new
// connections prove themselves. When it does neither any more, it is reached as soon as the
// last of them is known to have failed: the next dial does not wait for its connection to end.
func proofsThatFail(p *play) {
	n, stall := p.w.primary(p.f), p.w.settings.Terms.Stall
	key, soon := p.keyAt(n.Index(), sceneKeys, 0), quickly+p.fewTrips()
	if at, _ := chooseClosing(p.w.seed, p.w.schedule); at > 0 && at < p.f.over()+time.Second {
		return // Close waits for connections to end
	}
	defer p.linger()()
	end := p.outage(n)
	p.again(600*time.Millisecond, 20*time.Millisecond, "short", 50*time.Millisecond, func(a *attempt) { a.incr(key) })
	n.SilentFrom("ping")
	answer := p.undo(func() { n.SilentFrom("") })
	end()
	began := p.w.rec.now() - p.f.At
	p.elapse(began + soon)
	answer()
	p.elapse(began + stall + 2*soon)
	p.again(began+stall+lingers-100*time.Millisecond, 10*time.Millisecond, "short", 100*time.Millisecond, func(a *attempt) {
		a.Sure = true
		a.incr(key)
	})
	p.elapse(p.f.For)
}
