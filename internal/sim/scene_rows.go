package sim

import (
	"context"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// rowScenes are about maps with something odd in them.
func rowScenes() []scene {
	return []scene{{
		kind: kind{name: "a slot moves under an odd map", moves: true, harmless: true, quiet: true, alone: true, weight: 14, least: 5 * time.Second, most: 5 * time.Second, after: time.Second},
		fits: both(tellsMap, func(s *Settings) bool { return s.Latency <= 5*time.Millisecond && s.Dialing == wellBehaved }),
		play: movesUnderOddMap,
	}}
}

// movesUnderOddMap has all nodes tell of something that nobody can use. A client that runs
// takes the rest of each map, and so does a new one.
func movesUnderOddMap(p *play) {
	n := p.w.primary(p.f)
	to := p.otherPrimary(n)
	if to == nil || len(p.w.model.SlotsOf(n)) == 0 {
		return
	}
	p.w.model.Oddity(model.Oddity(1 + p.f.With%(model.Oddities-1)))
	defer p.undo(func() { p.w.model.Oddity(model.NothingOdd) })()
	key := p.keyAt(n.Index(), sceneKeys, 0)
	p.call("command", 2*time.Second, func(a *attempt) { a.Sure = true; a.incr(key) })
	p.move(key, to)
	p.elapse(800 * time.Millisecond) // all have heard of it
	p.call("sync", 2*time.Second, func(a *attempt) { a.Sure = true; a.sync() })
	p.call("command", 2*time.Second, func(a *attempt) {
		a.Sure, a.Soon = true, p.fewTrips()+50*time.Millisecond
		a.incr(key)
	})
	if p.w.settings.Sentinels || p.w.user.mood.Load() != int32(well) {
		return
	}
	p.call("read of a new client", 3*time.Second, func(a *attempt) {
		a.Sure, a.Own = true, true
		a.Err = p.readsAnew(a.ctx, key)
	})
}

// readsAnew reads a key by a new client.
func (p *play) readsAnew(ctx context.Context, key string) error {
	client, err := p.w.another(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, radix.Cmd(new(radix.Maybe), "GET", key))
}
