package sim

import (
	"slices"
	"sync"
	"time"
)

// Scenes of hits on one key that are under way beside each other.

func besideScenes() []scene {
	return []scene{
		{
			kind: kind{name: "hits beside each other", idle: true, alone: true, weight: 4, least: time.Second, most: time.Second},
			fits: func(s *Settings) bool { return !slices.Contains(s.Config.Slow, "INCRBY") }, // which may wait for each other
			play: besideEachOther,
		},
		{
			kind: kind{name: "hits that give a key no end", idle: true, alone: true, weight: 5, least: 2 * time.Second, most: 2 * time.Second},
			play: givingNoEnd,
		},
	}
}

// beside is the kind of calls that hit a key at the same moment as few others.
const beside = "beside"

// besideEachOther hits a key by few callers at the same moment, again and again.
func besideEachOther(p *play) {
	key := p.keyAt(p.w.node(p.f).Index(), onceKeys, 0)
	p.hitOnce(key, onceTTL)
	for round := 1; round <= 3; round++ {
		var calls sync.WaitGroup
		for i := range 6 {
			calls.Go(func() {
				p.callAs(100*round+i, beside, 2*time.Second, func(a *attempt) { a.hitAll(a.hitting(key, a.amount(), onceTTL)) })
			})
		}
		calls.Wait()
		time.Sleep(time.Millisecond) // else they would travel together next time
	}
}

// givingNoEnd hits keys beside hits that give them no time to live, when they are known to
// have one and were deleted, or are deleted meanwhile.
func givingNoEnd(p *play) {
	n := p.w.node(p.f).Index()
	hitting := func(at int, key string, ttl time.Duration) func() {
		return func() {
			p.callAs(at, "hits", 2*time.Second, func(a *attempt) { a.hitAll(a.hitting(key, a.amount(), ttl)) })
		}
	}
	keys := p.keysAt(n, 24)
	for i, key := range keys[:8] {
		p.hitOnce(key, onceTTL)
		p.others("DEL", key)
		first, second := hitting(100+i, key, 0), hitting(200+i, key, onceTTL)
		if i%2 == 1 {
			first, second = second, first
		}
		together(first, second)
	}
	for i, key := range keys[8:] {
		together(hitting(300+i, key, onceTTL), func() { p.others("DEL", key) }, hitting(400+i, key, 0))
		p.changed(key)
		p.hitOnce(key, onceTTL)
	}
}

// together calls functions at the same moment, one after the other.
func together(run ...func()) {
	var all sync.WaitGroup
	for _, f := range run {
		all.Go(f)
		time.Sleep(time.Nanosecond)
	}
	all.Wait()
}
