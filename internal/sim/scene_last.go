package sim

import (
	"errors"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
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
		{
			kind: kind{name: "the only lane is replaced", harmless: true, alone: true, weight: 14, least: 12 * time.Second, most: 12 * time.Second},
			fits: func(s *Settings) bool {
				o, l := s.options(), s.Terms.Law
				return o.FailFast && s.Latency <= 5*time.Millisecond && l.MaxAge == 10*time.Second && l.Most == 1 && l.Depth > 8 && s.Terms.Roomy && s.Dialing != stubborn
			}, play: onlyLaneReplaced,
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

// errHadRoom is what a call has that was refused though few others were about.
var errHadRoom = errors.New("refused, and there was room for it")

// onlyLaneReplaced has callers call all the time, so that there are always batches on the
// lane, while it reaches its age. FailFast is for those for whom there is no room.
func onlyLaneReplaced(p *play) {
	n := p.w.primary(p.f)
	defer p.impose(n, simnet.Conditions{Latency: 40 * time.Millisecond})()
	var callers sync.WaitGroup
	for i := range 3 {
		key := p.keyAt(n.Index(), sceneKeys, i)
		callers.Go(func() {
			time.Sleep(time.Duration(i) * 30 * time.Millisecond)
			for j := 0; p.left() > 500*time.Millisecond; j++ {
				p.callAs(1+200*i+j, "read", 2*time.Second, func(a *attempt) {
					if a.get(key); errors.Is(a.Err, redislanes.ErrExhausted) {
						a.Sure, a.Err, a.Commands = true, errHadRoom, nil
					}
				})
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	callers.Wait()
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
