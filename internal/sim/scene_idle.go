package sim

import (
	"context"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// poolScenes are about connections that are idle, lent, or about to be.
func poolScenes() []scene {
	pings := func(s *Settings) bool {
		l := s.Terms.Law
		return l.Exclusive && l.PingEvery == time.Second && s.Terms.RoundTrip <= 80*time.Millisecond
	}
	return []scene{
		{
			kind: kind{name: "half of the idle connections are broken", local: true, quiet: true, alone: true, weight: 16, least: 8 * time.Second, most: 9 * time.Second},
			fits: func(s *Settings) bool { return pings(s) && s.Terms.Law.Least >= 3 },
			play: halfBroken,
		},
		{
			kind: kind{name: "calls while PINGs are under way", harmless: true, gentle: true, local: true, weight: 8, least: 4 * time.Second, most: 4 * time.Second},
			fits: pings,
			play: besidePings,
		},
		{
			kind: kind{name: "dials without an answer beside a connection that is lent", local: true, dead: true, alone: true, weight: 10, least: 6 * time.Second, most: 7 * time.Second, after: besideLentLasts},
			fits: func(s *Settings) bool {
				return s.Terms.Law.Most > 0 && !s.Terms.Law.Exclusive && s.Terms.Law.Quiet <= time.Second
			},
			primary: true, play: besideLent,
		},
		{
			kind: kind{name: "a silence, and a pause of writes behind it", harmless: true, answers: true, weight: 4, least: 2 * time.Second, most: 2 * time.Second},
			fits: func(s *Settings) bool { // a dial that callers wait for, and that is lost in the silence, is no question that is asked again
				l := s.Terms.Law
				return s.Latency <= time.Millisecond && l.Most > 0 && !l.Exclusive && l.MaxAge == 0
			},
			play: silenceAndPause,
		},
		{
			kind: kind{name: "replies to WATCH that are too much", harmless: true, gentle: true, local: true, weight: 4, least: time.Second, most: 2 * time.Second},
			play: tooMuchToWatch,
		},
		{
			kind: kind{name: "hang-ups behind a PING", local: true, weight: 6, least: 2 * time.Second, most: 2 * time.Second},
			play: hangUpsBehindPings,
		},
	}
}

// undo returns the function as one that is called once: when the scene's time is over, or
// before.
func (p *play) undo(end func()) func() {
	once := sync.OnceFunc(end)
	timer := time.AfterFunc(p.left(), once)
	return func() { timer.Stop(); once() }
}

// left returns how much of the scene's time is left.
func (p *play) left() time.Duration { return p.f.until() - p.w.rec.now() }

// impose imposes conditions for the rest of the scene's time, or until they are lifted.
func (p *play) impose(n *model.Node, c simnet.Conditions) (lift func()) {
	return p.undo(p.w.net.Impose(us, p.w.reached(n), c))
}

// halfBroken breaks connections of which nobody learns until they are asked, and calls when
// all have been, and those that are well have answered; again and again.
func halfBroken(p *play) {
	n := p.w.node(p.f)
	addr := p.w.reached(n)
	for p.left() > 3500*time.Millisecond {
		for range 2 {
			p.crowd(n.Index(), p.w.settings.Terms.Law.Least, 400*time.Millisecond)
		}
		p.w.net.Vanish(us, addr, 0.5)
		cut := p.undo(func() { p.w.net.Cut(us, addr, 1) })
		time.Sleep(2150 * time.Millisecond) // a pool looks twice a second, when bytes arrived and whom to ask
		p.callWell(n, p.whole(addr))
		cut()
		time.Sleep(300 * time.Millisecond)
	}
}

// callWell makes calls at the same moment, one less than connections of the node are well.
func (p *play) callWell(n *model.Node, well int) {
	var wg sync.WaitGroup
	for range well - 1 {
		p.calls++
		number := p.calls
		key := p.keyAt(n.Index(), "u:", number)
		wg.Go(func() {
			p.callAs(number, "spare", 300*time.Millisecond, func(a *attempt) {
				a.Spare = well - 1
				a.pushTo(key)
			})
		})
	}
	wg.Wait()
}

// whole returns how many connections of a node's pool have a server at their other end.
func (p *play) whole(addr string) int {
	open := 0
	for _, s := range p.w.client.Stats().Nodes {
		if s.Pool.Addr == addr && s.Role == "primary" {
			open = s.Pool.Open
		}
	}
	return open - p.w.net.HalfOpen(addr)
}

// besidePings calls while it takes long to answer the PINGs of idle connections.
func besidePings(p *play) {
	n := p.w.node(p.f)
	defer p.impose(n, simnet.Conditions{Latency: 80 * time.Millisecond})()
	for round := range 2 {
		p.elapse(time.Duration(round)*2*time.Second + time.Second)
		var wg sync.WaitGroup
		for i := range 8 {
			number := 10*round + i
			key := p.keyAt(n.Index(), "u:", number)
			wg.Go(func() { p.callAs(number, crowding, 5*time.Second, func(a *attempt) { a.pushTo(key) }) })
			time.Sleep(90 * time.Millisecond)
		}
		wg.Wait()
	}
}

// besideLentLasts is how long others want a connection of a node, and a dial that was lost
// may take when it is dead no more.
const besideLentLasts = 2 * time.Second

// besideLent has a user keep a connection, for which the dial took long, and others want one
// when none can be made.
func besideLent(p *play) {
	const slow = 150 * time.Millisecond // a dial says nothing of round trips
	n := p.w.node(p.f)                  // not its primary: the judges take a local trouble for this node's
	key := p.keyAt(n.Index(), "v:", 0)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	lift := p.impose(n, simnet.Conditions{SlowDial: slow})
	wg.Go(func() {
		_ = p.w.client.Do(ctx, radix.WithConn(key, func(ctx context.Context, _ radix.Conn) error { <-ctx.Done(); return nil }))
	})
	time.Sleep(slow + 200*time.Millisecond)
	lift()
	defer p.impose(n, simnet.Conditions{Blackhole: true})()
	for p.left() > 0 {
		p.call(raw, besideLentLasts, func(a *attempt) {
			var c Command
			c, a.Err = a.rawRead(key, true)
			a.Commands = []Command{c}
		})
		time.Sleep(50 * time.Millisecond)
	}
}

// silenceAndPause holds up all bytes for so long that the client asks whether the server is
// there, and loses the question; and then writes, while it answers all questions.
func silenceAndPause(p *play) {
	n := p.w.primary(p.f)
	p.crowd(n.Index(), 1, 500*time.Millisecond) // it may be the first one there, and have to wait for a dial
	began := p.w.rec.now() - p.f.At
	time.AfterFunc(400*time.Millisecond, p.impose(n, simnet.Conditions{Partition: simnet.Both}))
	p.crowd(n.Index(), 1, 10*time.Second)
	p.elapse(began + 405*time.Millisecond)
	if p.left() < time.Second {
		return // something else is the matter
	}
	n.Pause(p.left()-100*time.Millisecond, false)
	defer p.undo(n.Unpause)()
	p.crowd(n.Index(), 1, 10*time.Second)
}

// tooMuchToWatch makes the replies to WATCH go beyond the client's limits. Who watches gives
// the connection back.
func tooMuchToWatch(p *play) {
	n := p.w.node(p.f)
	n.Interpose(func(args [][]byte, honest []byte, _ int) ([]byte, bool) {
		if string(args[0]) != "WATCH" {
			return honest, false
		}
		return tooDeep, false
	})
	defer p.undo(func() { n.Interpose(nil) })()
	for i := range 4 {
		key := p.keyAt(n.Index(), "v:", i)
		p.call(watching, 2*time.Second, func(a *attempt) { a.watch(key, false) })
	}
}

// hangUpsBehindPings makes a node refuse dials, so that a connection has to prove itself by
// a PING, and then hang up right behind the reply.
func hangUpsBehindPings(p *play) {
	n := p.w.node(p.f)
	end := p.impose(n, simnet.Conditions{Refuse: true})
	p.w.net.Cut(us, p.w.reached(n), 1)
	p.elapse(500 * time.Millisecond)
	n.HangUpBehind("ping")
	defer n.HangUpBehind("")
	end()
	p.elapse(1500 * time.Millisecond)
}
