package slots

import "slices"

// A Poll is what the servers that were asked in one refresh have said. It is the input of
// [Poll.Choose].
type Poll struct {
	Use    *Map     // the map in use; nil at the first contact
	Taught []Lesson // what MOVED has taught since
	Seeds  []string // the addresses that the program has given
	Before *Map     // what the refresh before this one has found of a cluster made anew; nil: nothing

	Votes    []Vote // what servers say, see Add
	All      bool   // no other server is asked, or waited for
	Failed   int    // servers that gave no map
	Withheld int    // of these, servers that answered, and give no map for now

	Heard []string // addresses of our nodes that answer over connections that are open

	// Stays says that the server in use, which has no cluster mode, answers: it has refused to be asked for
	// now, or open connections to it work.
	Stays bool
}

// A Vote is one server's map and what is wrong with it.
type Vote struct {
	Addr string
	ID   string // the server's own; "" if it does not tell
	Map  *Map
	Flaw Flaw
}

// by tells whether both are of one server.
func (v Vote) by(w Vote) bool {
	return Claim{Addr: v.Addr, ID: v.ID}.sameNode(Claim{Addr: w.Addr, ID: w.ID})
}

// Add judges a map and adds it to the votes.
func (p *Poll) Add(addr, id string, said *Map) Flaw {
	if !said.ids[id] {
		id = "" // what does not fit its own map identifies nobody
	}
	v := Vote{addr, id, said, judge(p.Use, p.Taught, said)}
	p.Votes = append(p.Votes, v)
	return v.Flaw
}

// Any tells whether a map has this flaw.
func (p *Poll) Any(f Flaw) bool {
	return slices.ContainsFunc(p.Votes, func(v Vote) bool { return v.Flaw == f })
}

// A Choice is which map to use, and why.
type Choice struct {
	Map   *Map // nil: the one in use stays
	Why   Why
	Found *Map // of a cluster made anew, for Poll.Before of the next refresh
}

// Why is the reason for a choice.
type Why string

// The reasons.
const (
	NotYet       Why = "servers have not answered yet"
	Nobody       Why = "no map can be trusted"
	Plain        Why = "nothing is wrong with it"
	TwoWitnesses Why = "two servers lack the same slots"
	Fullest      Why = "at the first contact it covers most slots"
	Majority     Why = "most primaries, most Sentinels or all servers say the same"
	NoWorse      Why = "it lacks no slot that the map in use has"
	MadeAnew     Why = "all that answers is another cluster"
	OnlyServer   Why = "the server in use does not answer, or is a replica, and this one has no cluster mode either"
	StillReplica Why = "the server in use is a replica, as before, and no primary answers"
)

// Choose decides which map to trust. It is a pure function of the poll. Until all servers
// are heard it chooses only a map that the others cannot make worse: one without a flaw, or
// one with gaps that two servers tell of.
func (p *Poll) Choose() Choice {
	if c := p.flawless(); c.Map != nil || !p.All {
		return c
	}
	ours, strangers := p.upTo(older), p.of(Foreign)
	switch {
	case p.Use == nil:
		return p.first()
	case len(ours) > 0:
		if m := p.majority(ours, p.Failed == 0 && len(ours) == len(p.Votes)); m != nil {
			return Choice{Map: m, Why: Majority}
		}
		return because(NoWorse, fullest(p.of(holes)))
	case len(strangers) > 0:
		m, found := p.newCluster(strangers)
		c := because(MadeAnew, m)
		c.Found = found
		return c
	case p.Stays && !p.inUseTold():
		return Choice{Why: Nobody}
	case len(p.of(another)) > 0:
		return because(OnlyServer, fullest(p.of(another)))
	case p.Use.Follows && len(p.of(asBefore)) == 0:
		return because(OnlyServer, fullest(p.of(replica)))
	}
	return because(StillReplica, fullest(p.of(asBefore)))
}

// inUseTold reports whether the server in use has told a map.
func (p *Poll) inUseTold() bool {
	return slices.ContainsFunc(p.Votes, func(v Vote) bool { return v.Addr == p.Use.Claims[0].Addr })
}

// because returns a choice of the map, which may be nil.
func because(why Why, m *Map) Choice {
	if m == nil {
		why = Nobody
	}
	return Choice{Map: m, Why: why}
}

// flawless chooses a map that may be used although not all servers were asked.
func (p *Poll) flawless() Choice {
	for i, v := range p.Votes {
		switch {
		case v.Flaw == NoFlaw:
			return Choice{Map: v.Map, Why: Plain}
		case v.Flaw <= lost && slices.ContainsFunc(p.Votes[:i], func(w Vote) bool {
			return w.Flaw <= lost && !w.by(v) && w.Map.agrees(v.Map)
		}):
			return Choice{Map: v.Map, Why: TwoWitnesses}
		}
	}
	return Choice{Why: NotYet}
}

func (p *Poll) upTo(f Flaw) []Vote {
	return slices.DeleteFunc(slices.Clone(p.Votes), func(v Vote) bool { return v.Flaw > f })
}

func (p *Poll) of(f Flaw) []Vote {
	return slices.DeleteFunc(slices.Clone(p.Votes), func(v Vote) bool { return v.Flaw != f })
}

// first chooses at the first contact: the map that covers most slots. A server without
// cluster mode is used only where nobody knows of a cluster, and a replica only where
// nobody else answers.
func (p *Poll) first() Choice {
	for _, worst := range []Flaw{Foreign, alone, replica} {
		if m := fullest(p.upTo(worst)); m != nil {
			return Choice{Map: m, Why: Fullest}
		}
	}
	return Choice{Why: Nobody}
}

func fullest(votes []Vote) *Map {
	var best *Map
	for _, v := range votes {
		if best == nil || covered(&v.Map.owner) > covered(&best.owner) {
			best = v.Map
		}
	}
	return best
}

// majority returns the map that more than half of the primaries have, or of the
// Sentinels, or all servers if none failed.
func (p *Poll) majority(votes []Vote, allAnswered bool) *Map {
	for _, v := range votes {
		same := alike(votes, v)
		primaries := 0
		for _, w := range same {
			if p.Use.isPrimary(w.Addr, w.ID) {
				primaries++
			}
		}
		if p.Use.Sentinels != nil && 2*len(same) > len(p.Votes)+p.Failed {
			return v.Map
		}
		if 2*primaries > len(p.Use.Claims) || allAnswered && len(same) == len(votes) {
			return v.Map
		}
	}
	return nil
}

// newCluster believes that the cluster was made anew if all of these hold:
//
//   - no node of ours answers, over a new connection or over one that is open,
//   - all servers that answer are of one other cluster,
//   - a seed is part of it, or more than half of our primaries' addresses are.
//
// A client that is started now would find the same. Seeds that fail to answer do not count:
// they may be gone for good. If servers failed to answer, it takes two refreshes: a connection
// to one of ours may have been reset just then. A server that answers and does not tell its
// map for now may be ours. Where a server of the other cluster answers, an open connection
// proves nothing: a node that was reset keeps it, and has another ID.
func (p *Poll) newCluster(votes []Vote) (use, found *Map) {
	if p.Withheld > 0 || p.oursIsHeard() {
		return nil, nil
	}
	var newest *Map
	ours, seeded := 0, false
	for _, v := range votes {
		if !votes[0].Map.knows(v.Map) {
			return nil, nil // of several clusters
		}
		if newest == nil || v.Map.newest() > newest.newest() {
			newest = v.Map
		}
		if slices.ContainsFunc(p.Use.Claims, func(c Claim) bool { return c.Addr == v.Addr }) {
			ours++
		}
		seeded = seeded || slices.Contains(p.Seeds, v.Addr)
	}
	if 2*ours > len(p.Use.Claims) || seeded {
		found = newest
	}
	if p.Failed > 0 && (p.Before == nil || !p.Before.knows(newest)) {
		return nil, found
	}
	return found, found
}

// oursIsHeard reports whether a node of ours answers that could not be asked for its map. A
// Sentinel's word counts more than that: a primary that was demoted answers, too.
func (p *Poll) oursIsHeard() bool {
	return p.Use.Sentinels == nil && slices.ContainsFunc(p.Heard, func(addr string) bool {
		return !slices.ContainsFunc(p.Votes, func(v Vote) bool { return v.Addr == addr })
	})
}

// alike returns the votes for the same map, one of each server.
func alike(votes []Vote, v Vote) []Vote {
	var same []Vote
	for _, w := range votes {
		if w.Map.agrees(v.Map) && !slices.ContainsFunc(same, w.by) {
			same = append(same, w)
		}
	}
	return same
}
