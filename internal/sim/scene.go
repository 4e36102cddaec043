package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// A scene is a fault together with the calls that it is about: what random callers come
// upon once in thousands of seeds, such as a read right behind a write that was refused, it
// makes happen each time. What its calls are judged by is what all calls are.
type scene struct {
	kind         // whose begin is made of play, where there is one
	primary bool // it is of a node that is a primary at the beginning
	names   bool // it may be played where nodes of a shard share their name
	fits    func(s *Settings) bool
	play    func(p *play)
}

// A play is a scene while it is played. It may block; what it does at last undoes what it
// did to the world.
type play struct {
	w     *world
	f     Fault
	r     *rand.Rand
	calls int
}

// scenesOf is how many seeds there are for one whose schedule is made of scenes.
const scenesOf = 3

// scenic reports whether the schedule of a seed is made of scenes.
func scenic(seed uint64) bool { return Only != "" || chance(source(seed, ofScenes, 0), scenesOf) }

// kindsOf returns what may happen in the world of a seed.
func kindsOf(seed uint64, s *Settings) []kind {
	if !scenic(seed) {
		return s.suitNames(append(allKinds(), s.ownKinds()...))
	}
	var kinds []kind
	for _, sc := range scenes() {
		if sc.fits != nil && !sc.fits(s) || s.Names.Shared && !sc.names || Only != "" && Only != sc.name {
			continue
		}
		kinds = append(kinds, sc.played(s))
	}
	if kinds == nil {
		return s.suitNames(append(allKinds(), s.ownKinds()...))
	}
	return kinds
}

// played returns the kind of faults that are the scene.
func (sc *scene) played(s *Settings) kind {
	k := sc.kind
	if sc.primary {
		k.among = s.Primaries
	}
	if k.begin != nil {
		return k
	}
	k.begin = func(w *world, f Fault) func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			sc.play(&play{w: w, f: f, r: f.draws()})
		}()
		return func() { <-done }
	}
	return k
}

// Only is the name of the scene that is played in all worlds, and no other; "": all scenes,
// in some worlds.
var Only string

// call makes a call of the scene, and returns it when it has ended. The context ends after
// so long; 0: never.
func (p *play) call(name string, within time.Duration, run func(a *attempt)) *Call {
	p.calls++
	return p.callAs(p.calls, name, within, run)
}

// callBy is call for one that ends with the scene, at the latest. There is none when that is
// over.
func (p *play) callBy(name string, most time.Duration, run func(a *attempt)) {
	if left := p.f.until() - p.w.rec.now(); left > 0 {
		p.call(name, min(most, left), run)
	}
}

// callAs is call for those that are made beside each other, each with a number of its own
// below 1,000.
func (p *play) callAs(n int, name string, within time.Duration, run func(a *attempt)) *Call {
	const behindCallers = 1_000_000_000
	id := behindCallers + int(p.f.At/time.Millisecond)*1000 + n
	a := &attempt{Call: &Call{ID: id, Kind: name, Ended: -1}, w: p.w, r: rand.New(rand.NewPCG(p.f.With, uint64(n))), ctx: context.Background()}
	if within > 0 {
		ctx, cancel := context.WithTimeout(a.ctx, within)
		defer cancel()
		a.ctx, a.Limit, a.Deadline = ctx, p.w.rec.now()+within, true
	}
	p.w.make(a, run)
	return a.Call
}

// elapse lets time pass until so long after the scene's beginning.
func (p *play) elapse(until time.Duration) { time.Sleep(p.f.At + until - p.w.rec.now()) }

// keyAt returns a key with a prefix, which no other call uses, whose slot is the node's of
// that index, or its primary's.
func (p *play) keyAt(node int, prefix string, n int) string {
	owner := p.w.nodes[node]
	if primary := p.w.model.Primary(owner); primary != nil {
		owner = primary
	}
	key := fmt.Appendf(nil, "%s%d.%d.", prefix, int(p.f.At/time.Millisecond), n)
	for i := int64(0); ; i++ {
		key := strconv.AppendInt(key, i, 10)
		// A node that has none of a hundred slots has none at all.
		if p.w.model.Owner(model.Slot(key)) == owner || i == 100 {
			return string(key)
		}
	}
}

func scenes() []scene {
	return slices.Concat(
		[]scene{{
			kind: kind{name: "short calls while a node is silent", local: true, dead: true, weight: 4, least: 4 * time.Second, most: 6 * time.Second},
			play: shortCallsWhileSilent,
		}},
		scenesOfSlots(), scenesOfGrace(), scenesOfRequests(),
		silentScenes(), sharedScenes(), dialScenes(), waitScenes(),
		moveScenes(), unknownScenes(), laneScenes(), mapScenes(), singleScenes(),
		loadScenes(), poolScenes(), proxyScenes(),
		expiryScenes(), hitScenes(), besideScenes(), beneathScenes(), limitScenes(), lastScenes(),
		returnScenes(), lingerScenes(), proofScenes(),
		namedScenes(), deadScenes(), stepScenes(), rowScenes(), replacedScenes(), tokenScenes(), repeatScenes(),
	)
}

// hit counts a key once, with a time to live.
func (a *attempt) hit(key string) {
	hits := []pipeline.Hit{a.hitting(key, a.amount(), onceTTL)}
	a.Err = a.w.counters.Hit(a.ctx, hits)
	_ = a.counted(hits, 0)
}

// shortCallsWhileSilent calls a node that does not answer, again and again, with less time
// than it takes to know that.
func shortCallsWhileSilent(p *play) {
	n := p.w.node(p.f)
	end := p.w.net.Impose(us, p.w.reached(n), simnet.Conditions{Stall: simnet.Both})
	defer end()
	for i := 0; p.w.rec.now() < p.f.until()-time.Second; i++ {
		key := p.keyAt(n.Index(), onceKeys, i)
		p.call("hits", 100*time.Millisecond, func(a *attempt) { a.hit(key) })
		time.Sleep(20 * time.Millisecond)
	}
}

// ownerOf returns the node that has the key's slot; nil: none.
func (p *play) ownerOf(key string) *model.Node { return p.w.model.Owner(model.Slot([]byte(key))) }

// move moves the key's slot, of which other nodes hear later.
func (p *play) move(key string, to *model.Node) {
	slot := model.Slot([]byte(key))
	if p.w.model.Migrate(slot, to) {
		p.w.model.FinishMigration(slot)
	}
}
