package sim

import (
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// repeatScenes are about commands that may run twice.
func repeatScenes() []scene {
	return []scene{{
		kind:    kind{name: "a repeat is refused", quiet: true, alone: true, weight: 14, least: 4 * time.Second, most: 4 * time.Second, after: redials},
		fits:    func(s *Settings) bool { return s.Latency <= 5*time.Millisecond && s.Dialing != stubborn },
		primary: true, play: refusedRepeat,
	}}
}

// refusedRepeat loses the reply to a write that may be repeated, of which all repeats are
// refused, or meet a server that is gone: it has run, all the same.
func refusedRepeat(p *play) {
	n := p.w.primary(p.f)
	p.crowd(n.Index(), 2, time.Second) // so that there are connections
	trip := p.w.settings.Terms.RoundTrip
	lift := p.impose(n, simnet.Conditions{Stall: simnet.ToClient})
	wait := p.beside(900, 2, "repeated", 3*time.Second, func(a *attempt, i int) { a.setsRepeatedly(p.keyAt(n.Index(), sceneKeys, i)) })
	time.Sleep(3*trip + 5*time.Millisecond)
	end := p.refusesAll(n)
	p.w.net.Cut(us, p.w.reached(n), 1)
	lift()
	wait()
	p.elapse(p.f.For - 200*time.Millisecond)
	end()
}

// refusesAll makes a node refuse all commands with keys, or be gone.
func (p *play) refusesAll(n *model.Node) (end func()) {
	switch p.f.With % 4 {
	case 0:
		return p.outage(n)
	case 1:
		n.Loading(p.left())
		return nothing
	}
	n.Refuse(model.Keyed, oneOf(p.r, model.PassingRefusals()...), 0)
	return p.undo(func() { n.Refuse(model.Keyed, "", 0) })
}

// setsRepeatedly sets a key by a command that may run twice.
func (a *attempt) setsRepeatedly(key string) {
	value := a.value(key)
	a.Commands = []Command{write("SET", key, value)}
	a.Commands[0].Twice = true
	p := pipeline.New(a.w.client)
	a.do(p, []pipeline.Reply{p.Cmd("SET", key, value).Idempotent()})
}
