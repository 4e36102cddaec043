package sim

import (
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// Scenes of calls that are none of a trouble's, and of functions of the user's.

func beneathScenes() []scene {
	return []scene{
		{
			kind:    kind{name: "scripts that read while nothing is written", harmless: true, local: true, dead: true, alone: true, weight: 4, least: 5 * time.Second, most: 5 * time.Second},
			primary: true, play: scriptsWhileRefused,
		},
		{
			kind: kind{name: "functions panic while the log is stuck", alone: true, weight: 12, least: 2 * time.Second, most: 2 * time.Second},
			fits: func(s *Settings) bool { return s.Stuck > 0 }, play: panicsBesideStuckLog,
		},
	}
}

// scriptsWhileRefused hits keys of a node that refuses what writes, and runs scripts there,
// of which nobody knows beforehand that they only read.
func scriptsWhileRefused(p *play) {
	n := p.w.node(p.f)
	n.NoReplicas(true)
	defer n.NoReplicas(false)
	keys := p.keysAt(n.Index(), 2)
	within := 4*p.w.settings.Terms.RoundTrip + 400*time.Millisecond + p.w.settings.Terms.Parting
	for p.w.rec.now() < p.f.until()-2*within {
		p.call("script that reads", within, func(a *attempt) { a.readByScript(keys[0]) })
		p.call("hits", within, func(a *attempt) { a.hitAll(a.hitting(keys[1], a.amount(), onceTTL)) })
		time.Sleep(100 * time.Millisecond)
	}
}

// readByScript reads a key by a script.
func (a *attempt) readByScript(key string) {
	pl := pipeline.New(a.w.client)
	said := pl.Cmd("EVAL", "return redis.call('GET', KEYS[1])", "1", key)
	a.Err = pl.Do(a.ctx)
	a.Commands = []Command{{Text: "EVAL " + key, Name: "EVAL", Key: key, Slot: -1}}
	a.Commands[0].settle("", said.Err())
}

// panicsBesideStuckLog has functions of the user's panic, and calls that need them.
func panicsBesideStuckLog(p *play) {
	p.w.user.mood.Store(int32(panicking))
	defer p.w.user.mood.Store(int32(well))
	for i := range 20 {
		key := p.keyAt(p.w.node(p.f).Index(), onceKeys, i)
		p.call("hits", 500*time.Millisecond, func(a *attempt) { a.hitAll(a.hitting(key, a.amount(), onceTTL)) })
	}
}
