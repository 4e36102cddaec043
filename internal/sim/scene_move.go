package sim

import (
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// moveScenes are about slots that change their node.
func moveScenes() []scene {
	const gossips = 500 * time.Millisecond
	return []scene{
		{
			kind: kind{name: "a node leaves", moves: true, weight: 4, least: 1500 * time.Millisecond, most: 2 * time.Second, after: gossips},
			fits: both(tellsMap, func(s *Settings) bool { return s.Terms.Grace != 0 }), play: leavingNode, // what waits for a connection goes again
		},
		{
			kind: kind{name: "slot 0 moves", moves: true, harmless: true, weight: 4, least: 800 * time.Millisecond, most: time.Second, after: gossips},
			fits: tellsMap, play: movingHome,
		},
		{
			kind: kind{name: "slow primary", harmless: true, weight: 4, least: 1700 * time.Millisecond, most: 1800 * time.Millisecond},
			fits: both(tellsMap, hasReplicas, func(s *Settings) bool { return s.Terms.Roomy && s.Latency <= 5*time.Millisecond }), play: slowPrimary,
		},
		{
			kind: kind{name: "hanging writes", moves: true, weight: 5, least: 4800 * time.Millisecond, most: 5 * time.Second, after: gossips},
			fits: both(tellsMap, hasReplicas), play: hangingWrites,
		},
	}
}

// leavingNode takes all slots from a node while writes wait there, which it will then send
// elsewhere. A client that learns of it has to wait until it has.
func leavingNode(p *play) {
	n := p.w.primary(p.f)
	to := p.otherPrimary(n)
	slots := p.w.model.SlotsOf(n)
	if to == nil || len(slots) == 0 {
		return
	}
	n.Pause(p.f.For, false)
	defer n.Unpause()
	wait := p.beside(100, 4, "write", 5*time.Second, func(a *attempt, i int) {
		a.Sure = true
		a.incr(p.keyAt(n.Index(), sceneKeys, i))
	})
	p.elapse(100 * time.Millisecond)
	key := p.keyAt(n.Index(), sceneKeys, 10)
	p.w.model.MoveSlots(slots, to)
	p.elapse(400 * time.Millisecond)
	p.call("read", time.Second, func(a *attempt) { a.get(key) })
	for range 2 {
		p.call("sync", time.Second, (*attempt).sync)
	}
	p.elapse(p.f.For - 400*time.Millisecond)
	n.Unpause()
	wait()
	p.w.model.MoveSlots(slots, n)
}

// movingHome moves slot 0, which says where commands without a key go. What they have left
// at a node has to be found all the same.
func movingHome(p *play) {
	owner := p.w.model.Owner(0)
	if owner == nil {
		return
	}
	to := p.otherPrimary(owner)
	sha := ""
	p.call("load", time.Second, func(a *attempt) {
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(&sha, "SCRIPT", "LOAD", fmt.Sprintf("return redis.call('ECHO', '%d')", p.f.With)))
	})
	if to == nil || sha == "" || !p.w.model.Migrate(0, to) {
		return
	}
	p.w.model.FinishMigration(0)
	p.elapse(400 * time.Millisecond)
	for range 2 {
		p.call("sync", time.Second, (*attempt).sync)
	}
	p.call("script without a key", 2*time.Second, func(a *attempt) {
		a.Sure = true
		a.Err = a.w.client.Do(a.ctx, radix.Cmd(nil, "EVALSHA", sha, "0"))
	})
}

// slowPrimary lets replicas refuse reads, and their primary answer late: nothing is gained
// by asking it again.
func slowPrimary(p *play) {
	const slow = 340 * time.Millisecond
	primary := p.w.primary(p.f)
	for _, r := range p.replicasOf(primary) {
		r.MasterDown(true)
		defer r.MasterDown(false)
	}
	key := p.keyAt(primary.Index(), sceneKeys, 0)
	p.call("read", time.Second, func(a *attempt) { a.get(key) }) // so that there are connections
	p.elapse(150 * time.Millisecond)
	end := p.impose(primary, simnet.Conditions{Latency: slow})
	defer end()
	p.call("read", 2*slow+380*time.Millisecond, func(a *attempt) {
		a.Sure = true
		a.Commands = []Command{read("GET", key)}
		var value string
		maybe := radix.Maybe{Rcv: &value}
		if err := a.w.client.DoSecondary(a.ctx, radix.Cmd(&maybe, "GET", key)); err != nil {
			a.fail(err)
			return
		}
		a.Commands[0].settle(orNull(&maybe, &value)()[0], nil)
	})
	p.elapse(p.f.For)
}

// hangingWrites lets a primary that is cut off from the others hang in writes, and a replica
// take over. It refuses nothing, so that only the deadlines of calls tell of it.
func hangingWrites(p *play) {
	old, r := p.w.primary(p.f), p.w.replica(p.f)
	if r == nil {
		return
	}
	slots := p.w.model.SlotsOf(old)
	if len(slots) == 0 {
		return
	}
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = p.keyAt(old.Index(), sceneKeys, i)
	}
	old.Deaf(true)
	old.Pause(p.f.For, false)
	p.w.model.Failover(r, false)
	i := 0
	p.again(p.f.For-time.Second, 100*time.Millisecond, "short write", 200*time.Millisecond, func(a *attempt) {
		a.incr(keys[i%len(keys)])
		i++
	})
	p.call("write", 500*time.Millisecond, func(a *attempt) {
		a.Sure = true
		a.incr(keys[0])
	})
	p.elapse(p.f.For - 100*time.Millisecond)
	old.Deaf(false)
	time.Sleep(50 * time.Millisecond)
	old.Unpause()
}
