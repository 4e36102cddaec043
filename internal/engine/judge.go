package engine

import (
	"slices"
)

// A doubt is why a server's map of the slots is not used as it came, in the
// order of what it takes to use it all the same. Before maps were judged, a server
// that came to a known address took all slots for good, and counters began at 1.
type doubt uint8

const (
	noDoubt  doubt = iota
	holes          // slots have no owner: another server may know more
	lost           // slots that had an owner have none now
	contrary       // it contradicts what MOVED has taught since the map in use
	older          // a slot goes to a claim with a smaller config epoch
	foreign        // its nodes have IDs of which we know none
	another        // it is another server without cluster mode than the one in use
	alone          // cluster support is disabled there
	replica        // the same, and it is a replica
)

// String says for logs and errors what is wrong.
func (d doubt) String() string {
	return [...]string{
		noDoubt:  "nothing is wrong with it",
		holes:    "slots have no owner, and no other node says the same",
		lost:     "slots that had an owner have none, and no other node says the same",
		contrary: "it contradicts what MOVED replies have said since, and most primaries do not say the same",
		older:    "it is older than the map in use by its config epochs, and most primaries or Sentinels do not say the same",
		foreign:  "its nodes have other IDs than ours: it is another cluster's",
		another:  "cluster support is disabled there, and it is not the server in use",
		alone:    "cluster support is disabled there: it is no node of the cluster",
		replica:  "cluster support is disabled there, and it is a replica",
	}[d]
}

// A lesson is what MOVED has taught since the map in use was fetched.
type lesson struct {
	slot uint16
	addr string
}

// judge says what is wrong with a server's map of the slots: the worst of all
// doubts. use is the map in use, nil at the first contact.
func judge(use *view, taught []lesson, said *view) doubt {
	switch {
	case said.sentinels != nil:
		return judgeSentinel(use, said)
	case said.single && said.follows:
		return replica
	case said.single && (use == nil || !use.single):
		return alone // at the first contact a cluster that another seed knows is preferred
	case said.single && said.claims[0].addr != use.claims[0].addr:
		return another // it has other data
	case use == nil || use.single:
		return judgeSlots(nil, nil, said)
	case !use.knows(said):
		return foreign
	}
	return judgeSlots(use, taught, said)
}

// judgeSentinel judges a primary that a Sentinel names. Each failover has a greater
// config epoch than those before it.
func judgeSentinel(use, said *view) doubt {
	if use == nil {
		return noDoubt
	}
	now, before := said.claims[0], use.claims[0]
	if now.addr != before.addr && now.epoch <= before.epoch {
		return older
	}
	return noDoubt
}

func judgeSlots(use *view, taught []lesson, said *view) doubt {
	worst := noDoubt
	is, was := uint16(noOwner), uint16(noOwner)
	for slot, i := range said.owner {
		j := uint16(noOwner)
		if use != nil {
			j = use.owner[slot]
		}
		if slot == 0 || i != is || j != was { // most slots are as the one before
			is, was = i, j
			worst = max(worst, judgeSlot(use, said, slot))
		}
	}
	for _, l := range taught {
		now, ok := said.claimOf(int(l.slot))
		before, owned := use.claimOf(int(l.slot))
		// A claim of the node that MOVED has named as no owner is renewed by other slots, too.
		newer := ok && owned && before.epoch > 0 && now.epoch > before.epoch && !now.sameNode(before)
		if !newer && (!ok || now.addr != l.addr) {
			worst = max(worst, contrary)
		}
	}
	return worst
}

func judgeSlot(use, said *view, slot int) doubt {
	now, ok := said.claimOf(slot)
	var before claim
	owned := false
	if use != nil {
		before, owned = use.claimOf(slot)
	}
	switch {
	case !ok && owned:
		return lost
	case !ok:
		return holes
	case owned && !now.sameNode(before) && 0 < now.epoch && now.epoch < before.epoch:
		return older
	}
	return noDoubt
}

// A vote is one server's map and what is wrong with it.
type vote struct {
	addr  string
	id    string // the server's own; "" if it does not tell
	view  *view
	doubt doubt
}

// by tells whether both are of one server.
func (v vote) by(w vote) bool {
	return claim{addr: v.addr, id: v.id}.sameNode(claim{addr: w.addr, id: w.id})
}

// A poll is what the servers that were asked in one refresh have said.
type poll struct {
	use    *view // nil at the first contact
	taught []lesson
	seeds  []string
	votes  []vote
	failed int   // servers that gave no map
	before *view // what the refresh before this one has found of a cluster made anew; nil: nothing
	found  *view // the same of this one

	withheld int // servers that answered, and gave no map for now
}

// add judges a map and counts it.
func (p *poll) add(addr, id string, said *view) doubt {
	if !said.ids[id] {
		id = "" // what does not fit its own map identifies nobody
	}
	v := vote{addr, id, said, judge(p.use, p.taught, said)}
	p.votes = append(p.votes, v)
	return v.doubt
}

// early returns a map that may be used although not all servers were asked: one
// without a doubt, or one with gaps that two servers have.
func (p *poll) early() *view {
	for i, v := range p.votes {
		if v.doubt == noDoubt || v.doubt <= lost && slices.ContainsFunc(p.votes[:i], func(w vote) bool {
			return w.doubt <= lost && !w.by(v) && w.view.agrees(v.view)
		}) {
			return v.view
		}
	}
	return nil
}

// final returns the map to use when all servers have answered or failed, nil to
// keep the one in use.
func (p *poll) final() *view {
	if v := p.early(); v != nil {
		return v
	}
	if p.use == nil {
		return p.first()
	}
	ours, strangers := p.upTo(older), p.of(foreign)
	switch {
	case len(ours) > 0:
		if v := p.majority(ours, p.failed == 0 && len(ours) == len(p.votes)); v != nil {
			return v
		}
		return fullest(p.of(holes)) // nothing is worse than in the map in use
	case len(strangers) > 0:
		return p.newCluster(strangers)
	case p.use.single:
		return fullest(p.upTo(another)) // the server in use does not answer, or is a replica now
	}
	return nil
}

func (p *poll) upTo(d doubt) []vote {
	return slices.DeleteFunc(slices.Clone(p.votes), func(v vote) bool { return v.doubt > d })
}

func (p *poll) of(d doubt) []vote {
	return slices.DeleteFunc(slices.Clone(p.votes), func(v vote) bool { return v.doubt != d })
}

// first chooses at the first contact: the map that covers most slots. Only
// where nobody knows of a cluster there is none, and a replica is used only where
// nobody else answers.
func (p *poll) first() *view {
	for _, worst := range []doubt{foreign, alone, replica} {
		if v := fullest(p.upTo(worst)); v != nil {
			return v
		}
	}
	return nil
}

func fullest(votes []vote) *view {
	var best *view
	for _, v := range votes {
		if best == nil || v.view.covered() > best.covered() {
			best = v.view
		}
	}
	return best
}

// majority returns the map that more than half of the primaries have, or of the
// Sentinels, or all servers if none failed.
func (p *poll) majority(votes []vote, allAnswered bool) *view {
	for _, v := range votes {
		same := alike(votes, v)
		primaries := 0
		for _, w := range same {
			if p.use.isPrimary(w.addr, w.id) {
				primaries++
			}
		}
		if p.use.sentinels != nil && 2*len(same) > len(p.votes)+p.failed {
			return v.view
		}
		if 2*primaries > len(p.use.claims) || allAnswered && len(same) == len(votes) {
			return v.view
		}
	}
	return nil
}

// newCluster believes what a client that is started now would find: that the cluster
// was made anew, if no node of ours answers, all that answers is one other cluster, and
// a seed is part of it, or more than half of our primaries' addresses. Seeds that fail to
// answer do not count: they may be gone for good. Where servers failed to answer it takes
// two refreshes: a connection to one of ours may have been reset just then. A server
// that answers, and does not tell its map for now, may be ours.
func (p *poll) newCluster(votes []vote) *view {
	if p.withheld > 0 {
		return nil
	}
	var newest *view
	ours, seeded := 0, false
	for _, v := range votes {
		if !votes[0].view.knows(v.view) {
			return nil // of several clusters
		}
		if newest == nil || v.view.newest() > newest.newest() {
			newest = v.view
		}
		if slices.ContainsFunc(p.use.claims, func(c claim) bool { return c.addr == v.addr }) {
			ours++
		}
		seeded = seeded || slices.Contains(p.seeds, v.addr)
	}
	if 2*ours > len(p.use.claims) || seeded {
		p.found = newest
	}
	if p.failed > 0 && (p.before == nil || !p.before.knows(newest)) {
		return nil
	}
	return p.found
}

// alike returns the votes for the same map, one of each server.
func alike(votes []vote, v vote) []vote {
	var same []vote
	for _, w := range votes {
		if w.view.agrees(v.view) && !slices.ContainsFunc(same, w.by) {
			same = append(same, w)
		}
	}
	return same
}
