package sim

import (
	"context"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// returnScenes are about connections that users give back.
func returnScenes() []scene {
	return []scene{{
		kind:    kind{name: "a user keeps a connection to the old server", local: true, quiet: true, alone: true, weight: 8, least: 5 * time.Second, most: 5 * time.Second},
		primary: true, fits: func(s *Settings) bool { return !s.Terms.FewCalls && s.Dialing != stubborn }, play: keptFromBefore,
	}}
}

// setsAlone sets a key over a connection of its own.
func (a *attempt) setsAlone(key string) {
	value, ok := a.value(key), ""
	a.Commands = []Command{write("SET", key, value)}
	a.perform(radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
		return conn.Do(ctx, radix.Cmd(&ok, "SET", key, value))
	}), func() []string { return []string{ok} })
}

// keptFromBefore has an address lead to another server while a user keeps a connection to
// the old one, which becomes a replica. When others have been told so, and the user has given
// it back, nobody is lent it.
func keptFromBefore(p *play) {
	n := p.w.node(p.f)
	key := p.keyAt(n.Index(), sceneKeys, 0)
	keep := func(number int) (giveBack func()) {
		release := make(chan struct{})
		wait := p.beside(number, 1, "lent", 0, func(a *attempt, _ int) {
			a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(context.Context, radix.Conn) error { <-release; return nil }))
		})
		return func() { close(release); wait(); time.Sleep(time.Millisecond) }
	}
	kept, told := keep(900), keep(901)
	time.Sleep(200*time.Millisecond + 4*p.w.settings.Terms.RoundTrip)
	last := n.Latest()
	p.elapse(1500 * time.Millisecond) // what is younger than a second is not replaced
	n.LeaveBehind(last)
	defer p.undo(func() { n.LeaveBehind(0) })()
	told()
	alone := func(sure bool) *Call {
		return p.call("lent", time.Second, func(a *attempt) {
			a.setsAlone(key)
			a.Commands[0].Sure = sure
		})
	}
	first := alone(false)
	time.Sleep(100 * time.Millisecond)
	second := alone(false)
	kept()
	alone(first.Err != nil && demoted(first.Err) && second.Err == nil)
}
