package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// sharedScenes are of connections that several callers share.
func sharedScenes() []scene {
	return []scene{
		{
			kind: kind{name: "many callers at once", idle: true, weight: 10, least: time.Second, most: time.Second},
			fits: func(s *Settings) bool {
				l, _ := s.Config.Pool.(pool.Laned)
				return s.Latency+s.Jitter < 500*time.Microsecond && s.lanes() > 0 && s.lanes() <= 4 && (l.MaxInFlight == 0 || l.MaxInFlight > 8) && l.MaxQueuedBytes != 1<<10
			},
			play: manyAtOnce,
		},
		{
			kind: kind{name: "a node asked to wait", idle: true, weight: 5, least: time.Second, most: time.Second},
			fits: func(s *Settings) bool { return s.lanes() > 0 && s.Terms.Roomy },
			play: waitingAtNodes,
		},
		{
			kind: kind{name: "error replies", idle: true, weight: 3, least: time.Second, most: time.Second},
			play: errorReplies,
		},
		{
			kind: kind{name: "a redirect beside a silent node", moves: true, weight: 4, least: time.Second, most: time.Second, after: 500 * time.Millisecond},
			fits: func(s *Settings) bool { return s.Primaries >= 3 && !s.Terms.Blind },
			play: redirectBesideSilence,
		},
		{
			kind: kind{name: "an upload over a thin link", weight: 3, least: 14 * time.Second, most: 14 * time.Second},
			fits: func(s *Settings) bool { return s.Terms.Stall > time.Second && s.Dialing == wellBehaved },
			play: upload,
		},
	}
}

// manyAtOnce has callers count at the same moment, for which a lane lets batches gather,
// and nobody calls behind them.
func manyAtOnce(p *play) {
	n := p.w.primary(p.f)
	base := 0
	for _, callers := range []int{18, 23, 39} {
		var calls sync.WaitGroup
		for i := range callers {
			key := p.keyAt(n.Index(), sceneKeys, base+i)
			calls.Go(func() { p.callAs(base+i, "command", time.Second, func(a *attempt) { a.increment(key, false) }) })
		}
		calls.Wait()
		base += callers
	}
}

// waitingAtNodes waits at each primary for an element that nobody appends, by a command of
// which radix does not know that it blocks, while others count there.
func waitingAtNodes(p *play) {
	lists := make(map[string]string) // by address
	for i := range p.w.settings.Primaries {
		list := p.keyAt(i, "b"+sceneKeys, i)
		if owner := p.ownerOf(list); owner != nil {
			lists[p.w.reached(owner)] = list
		}
	}
	var waits sync.WaitGroup
	waits.Go(func() {
		p.callAs(500, "await", 0, func(a *attempt) {
			a.Blocks = true
			a.Err = a.w.client.ForEachPrimary(a.ctx, func(ctx context.Context, node radix.Client) error {
				list, moved := lists[node.Addr().String()], ""
				return node.Do(ctx, radix.Cmd(&radix.Maybe{Rcv: &moved}, "BLMOVE", list, list, "LEFT", "RIGHT", "0.7"))
			})
		})
	})
	time.Sleep(20*time.Millisecond + 4*p.w.settings.Terms.RoundTrip)
	for i := range 2 * p.w.settings.Primaries {
		key := p.keyAt(i%p.w.settings.Primaries, sceneKeys, i)
		p.call("command", time.Second, func(a *attempt) { a.increment(key, false) })
	}
	waits.Wait()
}

// errorReplies counts a key that holds a text.
func errorReplies(p *play) {
	n := p.w.primary(p.f)
	for i := range 3 {
		key := p.keyAt(n.Index(), sceneKeys, i)
		p.call("values", time.Second, func(a *attempt) {
			ok, value := "", a.value(key)
			a.Commands = []Command{write("SET", key, value)}
			a.perform(radix.Cmd(&ok, "SET", key, value), func() []string { return []string{ok} })
		})
		p.call("command", time.Second, func(a *attempt) {
			a.increment(key, false)
			a.Misuse = a.Err != nil // which may have had another reason before
		})
	}
}

// redirectBesideSilence moves a slot of which the client does not learn, and calls the node
// that had it together with one that does not answer.
func redirectBesideSilence(p *play) {
	var at [3]int // from, to, silent
	for i := range at {
		at[i] = (p.f.Node + i) % p.w.settings.Primaries
	}
	moved, held := p.keyAt(at[0], sceneKeys, 0), p.keyAt(at[2], sceneKeys, 1)
	from, to, silent := p.ownerOf(moved), p.w.nodes[at[1]], p.ownerOf(held)
	if primary := p.w.model.Primary(to); primary != nil {
		to = primary
	}
	if from == to || from == silent || to == silent {
		return
	}
	p.move(moved, to)
	end := p.impose(silent, simnet.Conditions{Stall: simnet.Both})
	p.call("pipeline", 600*time.Millisecond, func(a *attempt) {
		pl := pipeline.New(a.w.client)
		var replies []pipeline.Reply
		for _, key := range []string{moved, held} {
			by := a.amount()
			c := write("INCRBY", key, strconv.FormatInt(by, 10))
			c.Sure = key == moved
			a.Commands = append(a.Commands, c)
			replies = append(replies, pl.IncrBy(key, by))
		}
		a.do(pl, replies)
	})
	end()
}

// upload sets a large value over a link that takes longer for it than a server may be silent.
func upload(p *play) {
	const perSecond = 180_000 // so that what is in buffers is through before a server seems to be dead
	size := int(perSecond * (p.w.settings.pauseTimeout() + 1500*time.Millisecond).Seconds())
	n := p.w.primary(p.f)
	end := p.impose(n, simnet.Conditions{Bandwidth: perSecond})
	defer end()
	p.call("large value", 13*time.Second, func(a *attempt) {
		a.Large = true
		ok, key := "", p.keyAt(n.Index(), sceneKeys, 0)
		value := fmt.Sprint(a.value(key), strings.Repeat(".", size))
		a.Commands = []Command{write("SET", key, value)}
		a.Commands[0].Sure = true
		a.perform(radix.Cmd(&ok, "SET", key, value), func() []string { return []string{ok} })
	})
}

// pauseTimeout returns for how long a connection may be silent whose server answers.
func (s *Settings) pauseTimeout() time.Duration {
	if o := s.options(); o.PauseTimeout > 0 {
		return o.PauseTimeout
	}
	return 10 * time.Second
}

// options returns what all kinds of pools are told.
func (s *Settings) options() pool.Options {
	switch c := s.Config.Pool.(type) {
	case pool.Fixed:
		return c.Options
	case pool.Adaptive:
		return c.Options
	case pool.Laned:
		return c.Options
	}
	return pool.Options{}
}
