package sim

import (
	"context"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit"
)

// Scenes of what a limiter has counted, and takes back.

func limitScenes() []scene {
	several := func(s *Settings) bool { return s.Primaries > 1 && !s.NoCluster }
	return []scene{
		{
			kind:    kind{name: "callers go while a node is silent", local: true, dead: true, alone: true, weight: 5, least: 2500 * time.Millisecond, most: 2500 * time.Millisecond},
			primary: true, fits: several, play: callersGo,
		},
		{
			kind:    kind{name: "tokens are given back late", harmless: true, local: true, alone: true, weight: 8, least: 3 * time.Second, most: 3 * time.Second},
			primary: true, fits: func(s *Settings) bool { return several(s) && s.lateTokens() > 0 }, play: tokensLate,
		},
	}
}

// ruleOf returns the first rule of that kind which counts what it allows only.
func (s *Settings) ruleOf(kind limit.Algorithm, failClosed bool) int {
	return slices.IndexFunc(s.Terms.Rules, func(r limit.Rule) bool {
		return r.Algorithm == kind && r.FailClosed == failClosed && !r.CountDenied && !r.Shadow && r.Name != changed
	})
}

// allow makes a call of the limiter, whose context its caller ends after so long; 0: not.
func (p *play) allow(n int, leaves time.Duration, asks ...Ask) {
	p.callAs(n, allowing, 0, func(a *attempt) {
		ctx, cancel := context.WithCancel(a.ctx)
		defer cancel()
		if leaves > 0 {
			defer time.AfterFunc(leaves, cancel).Stop()
		}
		a.ask(ctx, asks...)
	})
}

// tagOf returns what makes the keys that have it the node's.
func (p *play) tagOf(node, n int) string { return "{" + p.keyAt(node, "", n) + "}" }

// callersGo asks of a node that is well and of one that is silent, whose hits fail closed.
// When this is known there is no time left, or nobody waits any more, and what the other
// node has counted is to be taken back.
func callersGo(p *play) {
	n, well := p.w.node(p.f), p.another(p.w.node(p.f))
	if well == nil || p.w.model.Primary(n) != nil {
		return
	}
	defer p.stall()()
	s := &p.w.settings
	closed := Ask{Rule: s.ruleOf(limit.FixedWindow, true), Key: p.tagOf(n.Index(), 900)}
	closed.Cost = capacity(&s.Terms.Rules[closed.Rule])
	for i := range 4 {
		rule := s.ruleOf([...]limit.Algorithm{limit.FixedWindow, limit.SlidingWindow}[i%2], false)
		mine := Ask{Rule: rule, Key: onesOwn + p.tagOf(well.Index(), i), Cost: 2}
		var leaves time.Duration
		if i < 2 {
			leaves = min(s.Terms.Budget, s.Terms.RoundTrip+time.Millisecond)
		}
		p.allow(i, leaves, mine, closed)
	}
	time.Sleep(p.f.until() - p.w.rec.now())
}

// lateTokens returns for how long a call that takes tokens may wait for another node before
// it gives them back; 0: it has no time for that.
func (s *Settings) lateTokens() time.Duration {
	if late := s.Terms.Budget - s.Terms.RoundTrip - 15*time.Millisecond; late >= 30*time.Millisecond {
		return min(late, 100*time.Millisecond)
	}
	return 0
}

// tokensLate takes all tokens of a bucket in a call that another node denies, which is slow
// to say so. Tokens that flow in until they are given back are taken by somebody else.
func tokensLate(p *play) {
	n, well := p.w.node(p.f), p.another(p.w.node(p.f))
	if well == nil || p.w.model.Primary(n) != nil {
		return
	}
	s := &p.w.settings
	bucket, fixed, late := s.ruleOf(limit.TokenBucket, false), s.ruleOf(limit.FixedWindow, false), s.lateTokens()
	rule := &s.Terms.Rules[bucket]
	per := rule.Window / time.Duration(rule.Limit)
	for i := range 4 {
		mine := Ask{Rule: bucket, Key: onesOwn + p.tagOf(well.Index(), i), Cost: capacity(rule)}
		full := Ask{Rule: fixed, Key: p.tagOf(n.Index(), 900+i), Cost: capacity(&s.Terms.Rules[fixed])}
		p.allow(10*i, 0, full)
		end := p.impose(n, simnet.Conditions{Latency: late / 2})
		done := make(chan struct{})
		go func() {
			defer close(done)
			full.Cost = 1
			p.allow(10*i+1, 0, mine, full)
		}()
		time.Sleep(late - 5*time.Millisecond)
		some := mine
		some.Cost = max(1, min(mine.Cost, int64((late-5*time.Millisecond)/per)))
		p.allow(10*i+2, 0, some)
		<-done
		p.allow(10*i+3, 0, mine)
		end()
	}
}
