package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// Scenes in which something refuses commands for so long that the grace is over, while
// other commands succeed, which proves nothing of those.
func scenesOfGrace() []scene {
	return []scene{
		{
			kind: kind{name: "writes are refused among reads", harmless: true, dead: true, weight: 6, least: 6 * time.Second, most: 8 * time.Second},
			play: writesRefused,
		},
		{
			kind: kind{name: "a slot is nobody's", harmless: true, dead: true, weight: 6, least: 6 * time.Second, most: 8 * time.Second},
			fits: clustered, play: nobodysSlot,
		},
		{
			kind: kind{name: "keys apart for long", moves: true, harmless: true, dead: true, weight: 6, least: 6 * time.Second, most: 8 * time.Second},
			fits: clustered, play: keysApart,
		},
		{
			kind: kind{name: "a refusal within the grace", harmless: true, brief: true, weight: 4, least: 600 * time.Millisecond, most: 750 * time.Millisecond},
			play: refusedForLess,
		},
		{
			kind: kind{name: "refused, and again later", harmless: true, alone: true, weight: 6, least: 4500 * time.Millisecond, most: 5 * time.Second},
			fits: func(s *Settings) bool { return s.Terms.Grace >= time.Second }, play: refusedAgain,
		},
		{
			kind:    kind{name: "reads and watches while a node loads", harmless: true, local: true, dead: true, alone: true, weight: 6, least: 5 * time.Second, most: 6 * time.Second},
			primary: true, play: loadsAmongWatches,
		},
	}
}

// enough is how much time a call has that may wait for a usual grace.
const enough = 2 * time.Second

// writesRefused writes to a node that refuses to, for want of replicas, and reads from it.
// Halfway a command is answered that has waited since before.
func writesRefused(p *play) {
	n := p.w.primary(p.f)
	key := p.keyAt(n.Index(), "wr", 0)
	var before sync.WaitGroup
	defer before.Wait()
	if p.w.settings.Terms.MaxConns >= 4 {
		before.Go(func() {
			p.callAs(900, raw, 0, func(a *attempt) {
				list, timeout := "{"+key+"}b", fmt.Sprintf("%.2f", (p.f.For*6/10).Seconds())
				a.Err = a.w.client.Do(a.ctx, radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", timeout))
			})
		})
		time.Sleep(3*p.w.settings.Terms.RoundTrip + 10*time.Millisecond)
	}
	n.NoReplicas(true)
	defer n.NoReplicas(false)
	for p.w.rec.now() < p.f.until()-time.Second {
		for _, write := range []struct {
			kind string
			run  func(a *attempt)
		}{{"command", func(a *attempt) { a.sets(key) }}, {transacted, func(a *attempt) { a.transact("{" + key + "}n") }}} {
			p.callBy(write.kind, enough, write.run)
			p.callBy("read", enough, func(a *attempt) { a.gets(key) })
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// nobodysSlot takes a slot from its node, as by mistake when slots are given away, and
// calls for it again and again.
func nobodysSlot(p *play) {
	n := p.w.primary(p.f)
	key, used := p.keyAt(n.Index(), "ns", 0), slotsOfLoad()
	slot := cluster.Slot(key)
	if _, taken := used[slot]; taken || p.w.model.Owner(slot) != n {
		return
	}
	p.w.model.Unassign(slot, slot)
	defer func() {
		if owner := p.w.model.Primary(n); owner != nil {
			n = owner // it is a replica by now
		}
		p.w.model.Assign(slot, slot, n)
	}()
	for p.w.rec.now() < p.f.until()-time.Second {
		p.callBy("command", enough, func(a *attempt) { a.sets(key) })
		time.Sleep(100 * time.Millisecond)
	}
}

// keysApart leaves a slot half on its way, so that commands for two keys are refused which
// are at two nodes, while those for one of them are not. Another slot is served no more by
// its node, of which the others do not hear.
func keysApart(p *play) {
	n := p.w.primary(p.f)
	to := p.another(n)
	tag, slot := p.tagAt(n, 0)
	lost, gone := p.tagAt(n, 1)
	if to == nil {
		return
	}
	for _, key := range []string{tag + "a", tag + "b"} {
		p.callBy("command", time.Second, func(a *attempt) { a.sets(key) })
	}
	if !p.w.model.Migrate(slot, to) {
		return
	}
	defer p.w.model.FinishMigration(slot)
	p.w.model.MoveKeys(slot, 1)
	disowning := p.f.At + p.f.For/4
	defer n.Disown(gone, false)
	for p.w.rec.now() < p.f.until()-time.Second {
		p.callBy("several keys", enough, func(a *attempt) {
			pl := pipeline.New(a.w.client)
			a.Commands = []Command{read("MGET", tag+"a")}
			if a.do(pl, []pipeline.Reply{pl.Cmd("MGET", tag+"a", tag+"b")}); a.Commands[0].Outcome == Acked {
				a.Commands[0].Reply = ""
			}
		})
		p.callBy("read", enough, func(a *attempt) { a.gets(tag + "a") })
		p.callBy("read", enough, func(a *attempt) { a.gets(tag + "b") })
		if p.w.rec.now() > disowning {
			n.Disown(gone, true)
			p.callBy("unserved", enough, func(a *attempt) { a.sets(lost) })
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// refusedForLess refuses commands for less than a usual grace. Judge gentle wants those to
// succeed that have the time.
func refusedForLess(p *play) {
	n := p.w.primary(p.f)
	key := p.keyAt(n.Index(), sceneKeys, 0)
	n.Down(true)
	defer p.undo(func() { n.Down(false) })()
	p.again(p.f.For-100*time.Millisecond, 10*time.Millisecond, "patient", 3*time.Second, func(a *attempt) { a.incr(key) })
	p.elapse(p.f.For)
}

// refusedAgain refuses commands until the grace is over, and again when some have succeeded
// meanwhile: this is another trouble, which has a grace of its own.
func refusedAgain(p *play) {
	n := p.w.primary(p.f)
	key := p.keyAt(n.Index(), sceneKeys, 0)
	refused, again := p.w.settings.Terms.Grace+500*time.Millisecond, p.w.settings.Terms.Grace+time.Second
	n.Down(true)
	p.again(refused, 50*time.Millisecond, "command", 20*time.Millisecond, func(a *attempt) { a.incr(key) })
	n.Down(false)
	p.again(again, 20*time.Millisecond, "command", time.Second, func(a *attempt) { a.incr(key) })
	n.Down(true)
	time.AfterFunc(400*time.Millisecond, p.undo(func() { n.Down(false) }))
	p.call("patient", 3*time.Second, func(a *attempt) {
		a.Sure = true
		a.incr(key)
	})
}

// loadsAmongWatches reads from a node that loads its data, which lets keys be watched.
func loadsAmongWatches(p *play) {
	n := p.w.node(p.f)
	key := p.keyAt(n.Index(), sceneKeys, 0)
	n.Loading(p.f.For)
	for p.left() > time.Second {
		p.callBy("read", enough, func(a *attempt) { a.get(key) })
		p.callBy("watch", enough, func(a *attempt) {
			a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "WATCH", key))
			}))
		})
		time.Sleep(50 * time.Millisecond)
	}
}
