package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// laneScenes are about what is small beside what is large, over connections each of which
// has little bandwidth.
func laneScenes() []scene {
	const lasts = 1100 * time.Millisecond
	beside := func(name string, weight int, large func(p *play, n *model.Node) func(a *attempt), fits ...func(s *Settings) bool) scene {
		return scene{
			kind: kind{name: name, harmless: true, alone: true, weight: weight, least: lasts, most: lasts, after: time.Second},
			fits: both(append(fits, sharesWell)...),
			play: func(p *play) { smallBeside(p, large) },
		}
	}
	redirected := beside("slow reply behind a redirect", 12, redirectedReply, hasSlowLanes, tellsMap)
	redirected.moves = true
	return []scene{
		redirected,
		beside("slow reply", 4, slowReply, hasSlowLanes),
		beside("large pipeline", 4, largeTrip, hasSlowLanes),
		beside("large reply", 20, largeReply, packsLanes),
	}
}

// sharesWell fits lanes without bounds, over which a few round trips take less than what is
// large.
func sharesWell(s *Settings) bool {
	return s.Terms.Roomy && !s.Terms.Blind && s.Dialing != stubborn && s.Latency <= 5*time.Millisecond
}

// lanesOf returns the settings of lanes that callers share; ok is whether there are any.
func lanesOf(s *Settings) (l pool.Laned, ok bool) {
	if s.Config.Pool == nil {
		return l, true
	}
	l, ok = s.Config.Pool.(pool.Laned)
	return l, ok
}

func hasSlowLanes(s *Settings) bool {
	l, ok := lanesOf(s)
	return ok && !l.NoSlowLanes
}

// packsLanes fits pools of several lanes of which the first is used that is free.
func packsLanes(s *Settings) bool {
	l, ok := lanesOf(s)
	return ok && l.Lanes != 1 && (s.Strategy == "" || s.Strategy == "FirstFit")
}

const (
	// eachBandwidth is how much a connection has, and largeSize what takes it for three
	// quarters of a second.
	eachBandwidth = 200_000
	largeSize     = 150_000
)

// smallBeside reads small values while a large reply is on its way from the same node.
func smallBeside(p *play, large func(p *play, n *model.Node) func(a *attempt)) {
	n := p.w.primary(p.f)
	if len(p.w.model.SlotsOf(n)) == 0 {
		return
	}
	run := large(p, n)
	end := p.impose(n, simnet.Conditions{EachBandwidth: eachBandwidth})
	defer end()
	key := p.keyAt(n.Index(), sceneKeys, 1)
	wait := p.beside(100, 1, "large", 5*time.Second, func(a *attempt, _ int) { run(a) })
	time.Sleep(30 * time.Millisecond)
	p.again(300*time.Millisecond, 10*time.Millisecond, "small", time.Second, func(a *attempt) {
		a.Soon = p.fewTrips() + 100*time.Millisecond
		a.get(key)
	})
	wait()
	p.elapse(p.f.For)
}

// redirectedReply is one of those, of a key that was at another node a moment ago.
func redirectedReply(p *play, n *model.Node) func(a *attempt) {
	from := p.otherPrimary(n)
	if from == nil {
		return slowReply(p, n)
	}
	key := p.keyAt(from.Index(), "large:", 0)
	read := readsSlowly(p, key)
	return func(a *attempt) {
		p.move(key, n)
		read(a)
	}
}

// slowReply is that of a command which is known to be slow.
func slowReply(p *play, n *model.Node) func(a *attempt) {
	return readsSlowly(p, p.keyAt(n.Index(), "large:", 0))
}

// readsSlowly appends to a list, and returns what reads all of it.
func readsSlowly(p *play, key string) func(a *attempt) {
	p.call("push", time.Second, func(a *attempt) {
		args := []string{key}
		for range 100 {
			args = append(args, strings.Repeat("x", largeSize/100))
		}
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(nil, "LPUSH", args...))
	})
	return func(a *attempt) {
		var all []string
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(&all, "LRANGE", key, "0", "-1"))
	}
}

// largeTrip is of many commands, each of which is small.
func largeTrip(p *play, n *model.Node) func(a *attempt) {
	const commands = 1100
	key := p.keyAt(n.Index(), "large:", 0)
	p.call("append", time.Second, func(a *attempt) {
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(nil, "APPEND", key, strings.Repeat("x", largeSize/commands)))
	})
	return func(a *attempt) {
		many := pipeline.New(a.w.client)
		for range commands {
			many.Cmd("GET", key)
		}
		a.Err = many.Do(a.ctx)
	}
}

// largeReply is that of a command that is not known to be slow.
func largeReply(p *play, n *model.Node) func(a *attempt) {
	key := p.keyAt(n.Index(), "large:", 0)
	p.call("append", time.Second, func(a *attempt) {
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(nil, "APPEND", key, strings.Repeat("x", largeSize)))
	})
	return func(a *attempt) {
		var value string
		if a.Err = a.w.client.Do(a.ctx, radix.Cmd(&value, "GET", key)); a.Err == nil && len(value) != largeSize {
			a.Err = fmt.Errorf("%d bytes", len(value))
		}
	}
}
