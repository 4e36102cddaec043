package sim

import (
	"sync"
	"time"
)

// loadScenes are about pools that follow their load.
func loadScenes() []scene {
	sized := func(s *Settings) bool {
		l := s.Terms.Law
		return l.ranged() && l.Quiet <= time.Second && l.Depth*l.Most <= 28 && l.low() > l.Least*l.Depth
	}
	return []scene{
		{
			kind: kind{name: "bursts with pauses", harmless: true, gentle: true, weight: 8, least: 4 * time.Second, most: 5 * time.Second},
			fits: sized,
			play: burstsWithPauses,
		},
		{
			kind: kind{name: "writes wait while a pool shrinks", harmless: true, gentle: true, answers: true, weight: 8, least: 4 * time.Second, most: 5 * time.Second},
			fits: func(s *Settings) bool { return sized(s) && !s.Terms.Law.Exclusive },
			play: writesWaitWhileItShrinks,
		},
		{
			kind: kind{name: "a strategy takes its time", harmless: true, gentle: true, weight: 8, least: 2 * time.Second, most: 2 * time.Second, slack: 100 * slowness},
			fits: func(s *Settings) bool { l := s.Terms.Law; return !l.Exclusive && l.Most > 0 && l.Depth*l.Most <= 32 },
			play: strategyTakesItsTime,
		},
	}
}

// high returns a load that makes the pool as large as it may be, and low one for which it
// shrinks from there, and not to its least size if there is such a load.
func (l law) high() int { return l.Depth * l.Most * 3 / 4 }
func (l law) low() int  { return (3*l.Depth*l.Most - 1) / 10 }

// crowding is the kind of calls that are one batch at one node each, of which so many are
// made at the same moment.
const crowding = "crowd"

// crowd makes n calls at the same moment, of which each pushes an element.
func (p *play) crowd(node, n int, within time.Duration) {
	var wg sync.WaitGroup
	for range n {
		p.calls++
		number := p.calls
		key := p.keyAt(node, "u:", number)
		wg.Go(func() { p.callAs(number, crowding, within, func(a *attempt) { a.pushTo(key) }) })
	}
	wg.Wait()
}

// burstsWithPauses makes a pool large, and then small enough for what comes at once, again
// and again, with nothing in between.
func burstsWithPauses(p *play) {
	n, l := p.w.primary(p.f), p.w.settings.Terms.Law
	for i := 0; p.w.rec.now() < p.f.until()-500*time.Millisecond; i++ {
		size := l.low()
		if i < 2 {
			size = l.high()
		}
		p.crowd(n.Index(), size, 5*time.Second)
		p.elapse(time.Duration(i+1) * 150 * time.Millisecond)
	}
}

// writesWaitWhileItShrinks has writes in flight on all lanes, of which there are more than
// are wanted.
func writesWaitWhileItShrinks(p *play) {
	n, l := p.w.primary(p.f), p.w.settings.Terms.Law
	for range 2 {
		p.crowd(n.Index(), l.high(), 5*time.Second)
	}
	if p.left() < 2*time.Second {
		return // something else is the matter
	}
	n.Pause(p.left()-500*time.Millisecond, false)
	p.crowd(n.Index(), l.low(), 20*time.Second)
}

// strategyTakesItsTime has callers wait for lanes, while the user's functions are slow.
func strategyTakesItsTime(p *play) {
	n, l := p.w.primary(p.f), p.w.settings.Terms.Law
	p.w.user.mood.Store(int32(slow))
	defer p.undo(func() { p.w.user.mood.Store(int32(well)) })()
	for range 3 {
		p.crowd(n.Index(), min(2*l.Depth*l.Most, 30), 500*time.Millisecond)
	}
}
