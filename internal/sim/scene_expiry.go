package sim

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// Scenes of keys that may be left without their time to live.

func expiryScenes() []scene {
	return []scene{
		{
			kind: kind{name: "keys that others change", idle: true, alone: true, weight: 3, least: time.Second, most: time.Second},
			play: keysOthersChange,
		},
		{
			kind:    kind{name: "SET and EXPIRE are forbidden for a while", partly: true, harmless: true, alone: true, weight: 3, least: 3 * time.Second, most: 3 * time.Second},
			primary: true, play: expireForbidden,
		},
		{
			kind:    kind{name: "totals that cannot be read", harmless: true, alone: true, weight: 3, least: 3 * time.Second, most: 3 * time.Second},
			primary: true, play: unreadableTotals,
		},
		{
			kind:    kind{name: "connections break behind a hit's total", alone: true, weight: 4, least: 5 * time.Second, most: 5 * time.Second},
			primary: true, play: cutBeforeExpire,
		},
		{
			kind:    kind{name: "parts of hits are refused", partly: true, harmless: true, alone: true, weight: 5, least: 4 * time.Second, most: 4 * time.Second},
			primary: true, play: partsRefused,
		},
		{
			kind:    kind{name: "a failover loses an EXPIRE", moves: true, alone: true, weight: 5, least: 6 * time.Second, most: 6 * time.Second, after: time.Second},
			primary: true, fits: func(s *Settings) bool { return s.Replicas > 0 && (!s.NoCluster || s.Sentinels) }, play: failoverLosesExpire,
		},
	}
}

// hitAll counts hits that hitting has made.
func (a *attempt) hitAll(hits ...pipeline.Hit) {
	first := len(a.Commands) - len(hits)
	a.Err = a.w.counters.Hit(a.ctx, hits)
	_ = a.counted(hits, first)
}

// hitOnce makes a call that counts a key.
func (p *play) hitOnce(key string, ttl time.Duration) *Call {
	return p.call("hits", 2*time.Second, func(a *attempt) { a.hitAll(a.hitting(key, a.amount(), ttl)) })
}

// others does what another program does to a key, which may take its time to live.
func (p *play) others(name, key string) {
	p.changed(key)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	pl := pipeline.New(p.w.client)
	pl.Cmd(name, key)
	_ = pl.Do(ctx)
}

// keysAt returns so many keys that only the scene hits.
func (p *play) keysAt(node, n int) (keys []string) {
	for i := range n {
		keys = append(keys, p.keyAt(node, onceKeys, i))
	}
	return keys
}

// changed notes that what the key was promised until now need not be kept.
func (p *play) changed(key string) {
	p.w.rec.note(func(h *History) {
		if h.Changed == nil {
			h.Changed = make(map[string]time.Duration)
		}
		h.Changed[key] = p.w.rec.now()
	})
}

// keysOthersChange counts keys that others delete, or give no end to, in between.
func keysOthersChange(p *play) {
	n := p.w.node(p.f).Index()
	keys := p.keysAt(n, 6)
	for _, key := range keys[:3] {
		p.hitOnce(key, onceTTL)
		p.others("DEL", key)
		p.hitOnce(key, 0)
		p.hitOnce(key, onceTTL)
	}
	const ttl = 4 * time.Second // is believed in for two seconds
	for _, key := range keys[3:] {
		p.hitOnce(key, ttl)
		p.others("PERSIST", key)
		time.Sleep(ttl/2 + 50*time.Millisecond)
		p.hitOnce(key, ttl)
	}
}

// expireForbidden counts keys that somebody gives a time to live, and somebody else does
// not, while a user's rights have been forgotten, and again soon after.
func expireForbidden(p *play) {
	n := p.w.node(p.f)
	keys := p.keysAt(n.Index(), 5)
	n.Forbid("set", "expire", "pexpire")
	for _, key := range keys {
		p.call("hits", time.Second, func(a *attempt) {
			a.hitAll(a.hitting(key, a.amount(), onceTTL), a.hitting(key, a.amount(), 0))
		})
	}
	n.Forbid()
	for _, key := range keys {
		p.hitOnce(key, onceTTL)
	}
}

// unreadableTotals counts keys that somebody has deleted, and whose totals are replies beyond
// the limits.
func unreadableTotals(p *play) {
	keys := p.keysAt(p.w.node(p.f).Index(), 5)
	for _, key := range keys {
		p.hitOnce(key, onceTTL)
		p.others("DEL", key)
	}
	deep := []byte(strings.Repeat("*1\r\n", 2*defaultDepth) + ":1\r\n")
	end := p.w.interpose(p.f, func(args [][]byte, honest []byte, _ int) ([]byte, bool, bool) {
		if !strings.EqualFold(string(args[0]), "INCRBY") || honest[0] == '-' {
			return honest, false, false
		}
		return deep, true, false
	})
	defer end()
	for _, key := range keys {
		p.hitOnce(key, onceTTL)
	}
}

// cutBeforeExpire resets connections when a hit's total has arrived, and the reply about its
// time to live has not.
func cutBeforeExpire(p *play) {
	n := p.w.node(p.f)
	for i, key := range p.keysAt(n.Index(), 6) {
		by := int64(100 + i)
		end := p.impose(n, simnet.Conditions{CutToClient: len("+OK\r\n:\r\n") + len(strconv.FormatInt(by, 10))})
		lifted := time.AfterFunc(2*p.w.settings.Terms.RoundTrip+time.Millisecond, end)
		p.call("hits", 2*time.Second, func(a *attempt) { a.hitAll(a.hitting(key, by, onceTTL)) })
		if lifted.Stop() {
			end()
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// partsRefused counts keys of a server that refuses every fourth command, and so now SET, now
// INCRBY and now PTTL.
func partsRefused(p *play) {
	n := p.w.node(p.f)
	n.Flaky(4, oneOf(p.r, model.IsLoading, model.ClusterDown))
	for _, key := range p.keysAt(n.Index(), 10) {
		p.hitOnce(key, onceTTL)
	}
	n.Flaky(0, "")
}

// hitAgain is what keys begin with that are hit again when Redis has lost something of them.
const hitAgain = "again:"

// failoverLosesExpire has a replica become the primary that has the keys, and not the times
// to live that they were given last. They are hit again when this is known, and until each
// was.
func failoverLosesExpire(p *play) {
	n, r := p.w.node(p.f), p.w.replica(p.f)
	if r == nil || p.w.model.Primary(n) != nil {
		return
	}
	var keys []string
	for i := range 5 {
		keys = append(keys, p.keyAt(n.Index(), hitAgain, i))
		p.hitOnce(keys[i], 0)
	}
	time.Sleep(10 * usualLag)
	p.w.model.ReplicationLag(5 * time.Second)
	for _, key := range keys {
		p.hitOnce(key, onceTTL)
	}
	p.w.model.Failover(r, true)
	p.w.model.ReplicationLag(usualLag)
	for _, key := range keys {
		p.changed(key)
	}
	time.Sleep(600 * time.Millisecond) // all nodes have heard of it
	for range 2 {
		for _, key := range keys {
			p.hitOnce(key, onceTTL)
		}
	}
}
