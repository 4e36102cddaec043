package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// lingers is how long connections go on in these scenes that were closed. A client waits
// for a second at most.
const lingers = 900 * time.Millisecond

// lingerScenes are of connections that are no sockets and take their time to end.
func lingerScenes() []scene {
	lingering := func(name string, weight int, lasts time.Duration) kind {
		return kind{name: name, local: true, quiet: true, alone: true, weight: weight, least: lasts, most: lasts, after: redials}
	}
	// What leaves because of its age has its place until it has ended.
	ends := func(s *Settings) bool {
		return s.Dialing == wellBehaved && s.Terms.RoundTrip <= 12*time.Millisecond && s.options().MaxAge == 0
	}
	return []scene{
		{
			kind:    lingering("a full pool whose connections end", 30, 3*time.Second),
			primary: true, fits: func(s *Settings) bool { return s.Terms.FailFast && s.Dialing == wellBehaved }, play: endingWhereFull,
		},
		{
			kind:    lingering("dials without an answer while connections end", 12, 3500*time.Millisecond),
			primary: true, play: unansweredWhileEnding,
			fits: both(ends, func(s *Settings) bool {
				t := s.Terms
				l, _ := lanesOf(s)
				roomy := t.Law.ranged() && t.Law.Exclusive || !t.Law.Exclusive && l.MaxDedicated != 2 // for one more while one ends and another one is lent
				return roomy && !t.FewCalls && t.Grace >= 0 && t.Grace <= time.Second
			}),
		},
		{
			kind:    lingering("subscribers leave", 10, 2500*time.Millisecond),
			primary: true, fits: ends, play: subscribersLeave,
		},
	}
}

// linger makes connections take their time to end, for the rest of the scene's time.
func (p *play) linger() (end func()) {
	p.w.lingers.Store(int64(lingers))
	return p.undo(func() { p.w.lingers.Store(0) })
}

// leaveUnderWay has so many users of connections of a node's leave while commands are under
// way there that wait, so that the connections are closed. All of them leave at once.
func (p *play) leaveUnderWay(n *model.Node, users int) {
	list := p.keyAt(n.Index(), "b"+sceneKeys, 0)
	until := p.w.rec.now() + 150*time.Millisecond + 8*p.w.settings.Terms.RoundTrip
	p.beside(100, users, "lent", 0, func(a *attempt, _ int) {
		a.Err = a.w.client.Do(a.ctx, radix.WithConn(list, func(ctx context.Context, conn radix.Conn) error {
			ctx, cancel := context.WithTimeout(ctx, until-a.w.rec.now())
			defer cancel()
			_ = conn.Do(ctx, radix.Cmd(nil, "BLMOVE", list, list, "LEFT", "RIGHT", "2"))
			return nil
		}))
	})()
}

// endingWhereFull has users leave all connections of a pool that refuses callers when it is
// full. It is not, while they end: there will be others in their place.
func endingWhereFull(p *play) {
	n := p.w.node(p.f)
	defer p.linger()()
	p.leaveUnderWay(n, p.w.settings.Terms.Law.Most)
	time.Sleep(2*p.w.settings.Terms.RoundTrip + 25*time.Millisecond)
	p.call("push", 2*time.Second, func(a *attempt) {
		a.pushTo(p.keyAt(n.Index(), "u:", 0))
		a.Commands[0].Sure = true
	})
}

// unansweredWhileEnding has users leave all connections of a pool, or of those that it lends,
// and somebody wait for another one when no dial is answered. That is known as soon as if
// there were none.
func unansweredWhileEnding(p *play) {
	n := p.w.node(p.f)
	users := 1
	if l := p.w.settings.Terms.Law; l.Exclusive {
		p.crowd(n.Index(), 1, time.Second)
		if users = p.whole(p.w.reached(n)); users >= l.Most-1 {
			return // there is no room for another one
		}
	}
	defer p.linger()()
	p.leaveUnderWay(n, users)
	defer p.impose(n, simnet.Conditions{Blackhole: true})()
	p.call("lent", 0, func(a *attempt) {
		a.Soon = max(p.w.settings.Terms.Notice, p.w.settings.Terms.Grace) + 200*time.Millisecond
		a.setsAlone(p.keyAt(n.Index(), sceneKeys, 0))
	})
}

// subscribersLeave has users subscribe, wait for a message that does not come, and leave.
func subscribersLeave(p *play) {
	if at, _ := chooseClosing(p.w.seed, p.w.schedule); at > 0 && at < p.f.over()+time.Second {
		return // two that close a connection of radix's wait for each other by a mutex, for which time does not pass
	}
	const patience = 100 * time.Millisecond
	key := p.keyAt(p.w.node(p.f).Index(), sceneKeys, 0)
	defer p.linger()()
	for range 3 {
		p.call("subscriber", 0, func(a *attempt) {
			a.Soon = p.fewTrips() + patience + 50*time.Millisecond
			a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
				if err := conn.Do(ctx, radix.Cmd(nil, "SUBSCRIBE", "news")); err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				if err := conn.EncodeDecode(ctx, nil, new(resp3.RawMessage)); !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("waiting for a message: %w", err)
				}
				return nil
			}))
		})
		time.Sleep(100 * time.Millisecond)
	}
}
