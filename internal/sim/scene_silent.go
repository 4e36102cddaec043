package sim

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pool"
)

// silentScenes are of servers and connections that say nothing.
func silentScenes() []scene {
	return []scene{
		{
			kind: kind{name: "a node whose dials get no answer", dead: true, weight: 4, least: 5500 * time.Millisecond, most: 7 * time.Second, after: redials},
			fits: func(s *Settings) bool { return s.Config.Dialer.Timeout == 0 },
			play: unanswered,
		},
		{
			kind: kind{name: "a lane without a server", weight: 6, least: 5 * time.Second, most: 5 * time.Second},
			fits: func(s *Settings) bool { return s.lanes() >= 2 && !slices.Contains(s.Config.Slow, "INCRBY") },
			play: oneLaneDead,
		},
		{
			kind: kind{name: "a silence behind a pause", alone: true, weight: 20, least: 6500 * time.Millisecond, most: 6500 * time.Millisecond},
			fits: both(near, func(s *Settings) bool {
				l, t := s.Terms.Law, s.Terms
				return l.Most >= 4 && l.Depth <= 4 && t.Stall >= 3*time.Second && t.Grace >= 0 && t.Grace <= time.Second && s.Dialing != stubborn
			}),
			play: silenceBehindPause,
		},
		{
			kind: kind{name: "a silence ends with its connection, and another one begins", local: true, quiet: true, alone: true, weight: 14, least: 3500 * time.Millisecond, most: 3500 * time.Millisecond, after: redials},
			fits: func(s *Settings) bool {
				return near(s) && s.lanes() >= 2 && s.Config.Dialer.Timeout == 0 && s.Terms.Stall >= 3*time.Second && s.Terms.Grace >= 0 && s.Terms.Grace <= time.Second && s.Dialing == wellBehaved
			},
			primary: true, play: silentAgain,
		},
	}
}

// lanes returns how many lanes there are to each node; 0: connections are not shared.
func (s *Settings) lanes() int {
	switch l, ok := s.Config.Pool.(pool.Laned); {
	case ok:
		return l.Lanes
	case s.Unset:
		return leastConns(nil)
	}
	return 0
}

// increment counts a key by one command.
func (a *attempt) increment(key string, sure bool) {
	by, total := a.amount(), int64(0)
	a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
	a.Commands[0].Sure = sure
	a.perform(radix.FlatCmd(&total, "INCRBY", key, by), number(&total))
}

// unanswered calls a node to which all connections are lost, and which answers no dial.
func unanswered(p *play) {
	n := p.w.primary(p.f)
	p.call("command", time.Second, func(a *attempt) { a.increment(p.keyAt(n.Index(), sceneKeys, 0), false) })
	lift := p.impose(n, simnet.Conditions{Blackhole: true})
	p.w.net.Cut(us, p.w.reached(n), 1)
	var calls sync.WaitGroup
	for i := 1; p.w.rec.now() < p.f.until()-300*time.Millisecond; i++ {
		key := p.keyAt(n.Index(), sceneKeys, i)
		calls.Go(func() { p.callAs(i, "command", 0, func(a *attempt) { a.increment(key, false) }) })
		time.Sleep(250 * time.Millisecond)
	}
	lift()
	calls.Wait()
}

// oneLaneDead loses the server's end of a lane, so that what is sent over it gets no reply.
// The others do as well as before, as soon as it has been silent for an unusual time.
func oneLaneDead(p *play) {
	n := p.w.primary(p.f)
	key := p.keyAt(n.Index(), sceneKeys, 0)
	p.call("command", time.Second, func(a *attempt) { a.increment(key, false) })
	p.w.net.VanishUsed(us, p.w.reached(n))
	for p.w.rec.now() < p.f.until()-time.Second {
		late := p.w.rec.now() > p.f.At+2*time.Second
		p.call("command", time.Second, func(a *attempt) { a.increment(key, late) })
		time.Sleep(60 * time.Millisecond)
	}
	p.w.net.Cut(us, p.w.reached(n), 1)
}

// silenceBehindPause pauses writes of so many callers that all connections wait, which is one
// thing out of the ordinary and not many. The node falls silent behind it, which is known as
// soon as ever.
func silenceBehindPause(p *play) {
	const pause = 700 * time.Millisecond
	n, l, terms := p.w.primary(p.f), p.w.settings.Terms.Law, &p.w.settings.Terms
	p.crowd(n.Index(), l.Depth*l.Most, time.Second) // so that there are connections
	for range 2 {
		n.Pause(pause, false)
		resume := p.undo(n.Unpause)
		p.crowd(n.Index(), l.Depth*l.Most, 2*pause)
		resume()
		time.Sleep(600 * time.Millisecond) // until a pool has looked at its connections
	}
	defer p.stall()()
	wait := p.beside(900, 1, "command", terms.Stall, func(a *attempt, _ int) { a.incr(p.keyAt(n.Index(), sceneKeys, 0)) })
	defer wait()
	known := p.w.rec.now() + terms.Notice + terms.Grace + 400*time.Millisecond
	for p.left() > 500*time.Millisecond {
		p.callBy("command", 300*time.Millisecond, func(a *attempt) {
			if p.w.rec.now() > known {
				a.Soon = p.fewTrips() + 100*time.Millisecond
			}
			a.incr(p.keyAt(n.Index(), sceneKeys, p.calls))
		})
		time.Sleep(20 * time.Millisecond)
	}
}

// silentAgain has a server make writers wait, while it takes long to dial it, so that the
// question whether it lives has no answer yet when the connection is lost on which it was
// silent. Where it is silent next, it is asked again, and answers at once.
func silentAgain(p *play) {
	n := p.w.node(p.f)
	host := p.w.reached(n)
	p.crowd(n.Index(), 1, time.Second)
	if p.whole(host) < 2 || p.left() < 3300*time.Millisecond {
		return
	}
	began := p.w.rec.now() - p.f.At
	n.Pause(2400*time.Millisecond, false)
	defer p.undo(n.Unpause)()
	lift := p.impose(n, simnet.Conditions{SlowDial: 2500 * time.Millisecond})
	var lost *Call
	push := func(number int) (wait func()) {
		key := p.keyAt(n.Index(), "u:", number)
		return p.beside(number, 1, "push", 5*time.Second, func(a *attempt, _ int) {
			a.pushTo(key)
			if lost == nil {
				lost = a.Call
			} else {
				a.Commands[0].Sure = lost.Commands[0].Outcome == Unknown
			}
		})
	}
	first := push(901)
	p.elapse(began + 380*time.Millisecond)
	p.w.net.CutUsed(us, host)
	first()
	time.Sleep(5 * time.Millisecond)
	lift()
	time.Sleep(40 * time.Millisecond) // until that is seen
	second := push(902)
	time.Sleep(650 * time.Millisecond)
	push(903)()
	second()
}
