package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pool"
)

// dialScenes are of connections that cannot be had, or are of no use.
func dialScenes() []scene {
	return []scene{
		{
			kind: kind{name: "dials that do not end", weight: 3, least: 7 * time.Second, most: 7 * time.Second},
			play: endlessDials,
		},
		{
			kind: kind{name: "handshakes without a server", weight: 6, least: 4 * time.Second, most: 4 * time.Second},
			fits: func(s *Settings) bool {
				return s.Latency >= time.Millisecond && s.Jitter <= s.Latency/4 && s.Dialing == wellBehaved
			},
			play: hollowHandshakes,
		},
		{
			kind: kind{name: "a changed password", weight: 6, least: 2 * time.Second, most: 2 * time.Second, reason: inVain},
			fits: func(s *Settings) bool { return s.Password },
			play: changedPassword,
		},
		{
			kind: kind{name: "an idle connection is lost while its server is silent", weight: 12, least: 8500 * time.Millisecond, most: 8500 * time.Millisecond, after: redials},
			fits: func(s *Settings) bool {
				l, ok := s.Config.Pool.(pool.Laned)
				return ok && l.PingEvery == time.Second && l.IdleTimeout == time.Second && s.Terms.Stall >= 2*time.Second && s.Terms.RoundTrip <= 12*time.Millisecond
			},
			play: lostWhileSilent,
		},
	}
}

// endlessDials loses the connections to a node when nothing ends what dials: those that
// come later are as good as ever.
func endlessDials(p *play) {
	n := p.w.primary(p.f)
	p.w.rec.note(func(h *History) { h.Terms.Parting = max(h.Terms.Parting, 100*time.Millisecond) })
	p.w.hanging.Store(true)
	p.w.net.Cut(us, p.w.reached(n), 1)
	for i := range 3 {
		p.call("command", 100*time.Millisecond, func(a *attempt) { a.increment(p.keyAt(n.Index(), sceneKeys, i), false) })
	}
	p.w.hanging.Store(false)
}

// hollowHandshakes has each connection to a node end right behind its handshake.
func hollowHandshakes(p *play) {
	n, trip := p.w.primary(p.f), 2*p.w.settings.Latency
	lift := p.impose(n, simnet.Conditions{HangUpAfter: trip})
	defer lift()
	for i := 0; p.w.rec.now() < p.f.until()-time.Second; i++ {
		key, known := p.keyAt(n.Index(), sceneKeys, 0), p.w.rec.now() > p.f.At+500*time.Millisecond
		p.call("command", 100*time.Millisecond, func(a *attempt) {
			a.increment(key, false)
			a.Commands[0].Clear = known
		})
		time.Sleep(20 * time.Millisecond)
	}
}

// inVain reports whether an error tells of a handshake that was refused or cut off, or behind
// which the connection was closed.
func inVain(err error) bool { return strings.Contains(err.Error(), "handshake") }

// changedPassword loses half of the connections to a node, and then the others, after its
// password was changed.
func changedPassword(p *play) {
	n := p.w.primary(p.f)
	password := fmt.Sprintf("%s%x", canary, p.f.With)
	p.w.newest.Store(&password)
	for _, other := range p.w.nodes {
		other.RequirePass("", password, false)
	}
	p.w.net.Cut(us, p.w.reached(n), 0.5)
	time.Sleep(8 * p.w.settings.Terms.RoundTrip)
	p.w.net.Cut(us, p.w.reached(n), 1)
	for i := range 10 {
		key := p.keyAt(n.Index(), sceneKeys, i)
		p.call("command", 10*time.Millisecond, func(a *attempt) { a.increment(key, false) })
	}
	p.w.setPassword(*p.w.newest.Load())
}

// lostWhileSilent loses a connection that nobody uses, when it has not answered a PING and
// no dial was answered either. By then the pool wants no connection any more.
func lostWhileSilent(p *play) {
	n := p.w.primary(p.f)
	host, key := p.w.reached(n), p.keyAt(n.Index(), sceneKeys, 0)
	lend := func(a *attempt) {
		a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(nil, "ECHO", "x"))
		}))
	}
	p.call("lent", time.Second, lend)
	time.Sleep(p.w.settings.options().PingEvery - 50*time.Millisecond)
	lift := p.w.net.Impose(us, host, simnet.Conditions{Partition: simnet.Both})
	time.Sleep(1300 * time.Millisecond)
	p.w.net.Cut(us, host, 1)
	time.Sleep(p.w.settings.Terms.Stall) // the question has no answer either
	lift()
}
