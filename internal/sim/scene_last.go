package sim

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// lastScenes are about the end of the last connection to a server that can be dialled: what
// was the matter before is no reason to take it for down.
func lastScenes() []scene {
	ranged := func(s *Settings) bool { return s.Terms.Law.ranged() && s.Terms.Law.MaxAge == 0 }
	return []scene{
		{
			kind: kind{name: "connections that end long after a silence", dead: true, alone: true, weight: 24, least: 7 * time.Second, most: 7 * time.Second, after: redials},
			fits: both(near, ranged, func(s *Settings) bool { return s.Dialing == stubborn }), play: endsLate,
		},
		{
			kind: kind{name: "one more connection cannot be had", alone: true, weight: 10, least: 5 * time.Second, most: 5 * time.Second},
			fits: both(near, ranged, func(s *Settings) bool {
				l := s.Terms.Law
				return l.Quiet <= time.Second && l.Depth*l.Most <= 28
			}), play: oneMoreRefused,
		},
	}
}

// endsLate silences a node until its connections are closed, which takes them a while where
// they are no sockets. It is there again before they have ended.
func endsLate(p *play) {
	n := p.w.primary(p.f)
	stall, parting := p.w.settings.Terms.Stall, p.w.settings.Terms.Parting
	p.crowd(n.Index(), 1, time.Second) // so that there is a connection
	end := p.stall()
	wait := p.beside(900, 1, "command", stall+time.Second, func(a *attempt, _ int) { a.incr(p.keyAt(n.Index(), sceneKeys, 0)) })
	time.Sleep(stall + 300*time.Millisecond)
	end()
	wait()
	time.Sleep(parting + 500*time.Millisecond)
	p.losesLast(n)
}

// oneMoreRefused refuses dials while there are enough callers for one more connection, until
// nobody wants it any more.
func oneMoreRefused(p *play) {
	n, l := p.w.primary(p.f), p.w.settings.Terms.Law
	end := p.impose(n, simnet.Conditions{Refuse: true})
	p.crowd(n.Index(), l.high(), time.Second)
	time.Sleep(3 * time.Second)
	end()
	time.Sleep(1200 * time.Millisecond) // a dial that was to be tried again has been, if it is still wanted
	p.losesLast(n)
}

// errTakenForDown is what a look at a pool has whose server has been well.
var errTakenForDown = errors.New("its server is counted as down, and can be dialled")

// losesLast cuts all connections to a node that is well, and calls it, unless some of them
// are young: the end of one of those says something of its server.
func (p *play) losesLast(n *model.Node) {
	const youth = 400 * time.Millisecond
	dials, _ := p.dialled(n)
	time.Sleep(youth)
	later, before := p.dialled(n)
	if later != dials {
		return
	}
	p.w.net.Cut(us, p.w.reached(n), 1)
	p.call("read", 2*time.Second, func(a *attempt) {
		a.get(p.keyAt(n.Index(), sceneKeys, 1))
		if _, downs := p.dialled(n); downs > before {
			a.Sure, a.Err, a.Commands = true, errTakenForDown, nil
		}
	})
}

// dialled returns how often a node was dialled, and how often its pools found it down.
func (p *play) dialled(n *model.Node) (dials, downs uint64) {
	for _, s := range p.w.client.Stats().Nodes {
		if s.Pool.Addr == p.w.reached(n) {
			dials += s.Pool.Dials
			downs += s.Pool.Downs
		}
	}
	return dials, downs
}
