package sim

import (
	"errors"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// stepScenes are about single commands that servers refuse for a while.
func stepScenes() []scene {
	return []scene{
		{
			kind: kind{name: "a replica refuses READONLY", quiet: true, alone: true, replicas: true, weight: 14, least: 7 * time.Second, most: 7 * time.Second},
			fits: both(tellsMap, hasReplicas, func(s *Settings) bool { return s.Dialing == wellBehaved && s.Latency <= 5*time.Millisecond }),
			play: refusesReadOnly,
		},
		{
			kind: kind{name: "SET or PTTL is refused", partly: true, harmless: true, weight: 14, least: 300 * time.Millisecond, most: 2500 * time.Millisecond, after: time.Second},
			play: refusesAround,
		},
		{
			kind: kind{name: "the password changes, and Credentials is late", quiet: true, alone: true, weight: 12, least: 3 * time.Second, most: 3 * time.Second},
			fits: func(s *Settings) bool {
				return s.Password && s.Terms.Grace >= time.Second && s.Latency <= 5*time.Millisecond && s.Dialing == wellBehaved && !s.Terms.FewCalls
			},
			play: lateCredentials,
		},
	}
}

// errRedirected is what a look at a replica has that is well and redirects reads.
var errRedirected = errors.New("reads from a replica that is well are redirected")

// refusesReadOnly makes a replica refuse READONLY for a while, in which connections to it are
// made. When it is well again, it answers reads from replicas.
func refusesReadOnly(p *play) {
	n := p.w.primary(p.f)
	all := p.replicasOf(n)
	if len(all) == 0 {
		return
	}
	text, times := oneOf(p.r, model.PassingRefusals()...), oneOf(p.r, 0, 0, 1)
	for _, r := range all {
		r.Refuse("readonly", text, times)
		p.w.net.Cut(us, p.w.reached(r), 1)
	}
	well := p.undo(func() {
		for _, r := range all {
			r.Refuse("readonly", "", 0)
		}
	})
	p.again(1200*time.Millisecond, 50*time.Millisecond, "read", time.Second, p.readsReplica(n, false))
	well()
	p.elapse(4500 * time.Millisecond) // by then there are connections to it again
	p.again(5500*time.Millisecond, 100*time.Millisecond, "read", time.Second, p.readsReplica(n, false))
	before := p.redirects(all)
	p.again(6500*time.Millisecond, 100*time.Millisecond, "read", time.Second, p.readsReplica(n, true))
	p.call("read", time.Second, func(a *attempt) {
		if p.readsReplica(n, true)(a); a.Err == nil && p.redirects(all) > before {
			a.Err = errRedirected
		}
	})
}

// readsReplica returns what reads a key of a node's from replicas.
func (p *play) readsReplica(n *model.Node, sure bool) func(a *attempt) {
	return func(a *attempt) {
		value := ""
		a.Sure = sure
		a.Err = a.w.client.DoSecondary(a.ctx, radix.Cmd(&radix.Maybe{Rcv: &value}, "GET", p.keyAt(n.Index(), sceneKeys, 0)))
	}
}

// redirects returns how often the nodes have replied MOVED.
func (p *play) redirects(nodes []*model.Node) (n uint64) {
	p.w.rec.note(func(*History) {
		for _, r := range nodes {
			n += p.w.failures[p.w.reached(r)]["MOVED"]
		}
	})
	return n
}

// refusesAround makes nodes refuse SET, or PTTL and EXPIRE, for a while, in which keys are
// counted that nobody hits again. One of them gives the key its time to live.
func refusesAround(p *play) {
	names := oneOf(p.r, []string{"set"}, []string{"pttl", "expire", "pexpire"})
	text := oneOf(p.r, model.PassingRefusals()...)
	turn := func(text model.Refusal) {
		for _, n := range p.w.nodes {
			for _, name := range names {
				n.Refuse(name, text, 0)
			}
		}
	}
	turn(text)
	defer turn("")
	for i := 0; p.left() > 0; i++ {
		key := p.keyAt(i%len(p.w.nodes), onceKeys, i)
		p.beside(100+i, 1, "hits", 3*time.Second, func(a *attempt, _ int) { a.hit(key) })
		time.Sleep(40 * time.Millisecond)
	}
}

// lateCredentials changes the password of a node, of which the user learns a moment later,
// while all connections are lost. Whoever calls meanwhile is served as soon as the user knows.
func lateCredentials(p *play) {
	const late = 300 * time.Millisecond
	n := p.w.primary(p.f)
	password := *p.w.newest.Load() + "x"
	p.w.newest.Store(&password)
	for _, other := range p.w.nodes {
		other.RequirePass("", password, false)
		p.w.net.Cut(us, p.w.reached(other), 1)
	}
	time.AfterFunc(late, func() { p.w.setPassword(password) })
	time.Sleep(20 * time.Millisecond)
	for i := range 4 {
		p.call("push", 2500*time.Millisecond, func(a *attempt) {
			a.pushTo(p.keyAt(n.Index(), "u:", i))
			// A connection of which nobody has noticed yet that it was lost makes it unknown.
			a.Sure, a.Soon = a.Commands[0].Outcome != Unknown, 2*time.Second
		})
	}
}
