package slots

import (
	"cmp"
	"slices"
)

// An Answer is the map of the server at Addr, with its own ID, "" if it does not tell.
type Answer struct {
	Addr, ID string
	Map      *Map
}

// A Poll is what the servers that were asked in one refresh have said.
type Poll struct {
	Use     *Map     // the map in use; nil at the first contact
	Seeds   []string // the addresses that the program has given
	Answers []Answer
	Failed  int  // servers that gave no map
	All     bool // no other server is asked, or waited for

	// Gone reports whether the node or Sentinel at the address has been silent, or has refused, for
	// so long that its claims are void.
	Gone func(addr string) bool
}

// A Choice is the map to use. Nil: the one in use stays, since no answer counts.
type Choice struct {
	Map  *Map
	Done bool // nobody else needs to be asked
}

// Choose decides which map to use. It is a pure function of the poll, and the order of the answers does
// not matter.
//
//   - Only answers of ours count: those that share an ID with the map in use.
//   - Each slot goes to the claim with the greatest config epoch, among the map in use and all
//     answers, see [Poll.owner]. A slot that has an owner keeps one.
//   - Another cluster is taken only if it has replaced ours, see [Poll.replaced].
//   - A server without cluster mode counts only among such servers, see [Poll.server].
func (p *Poll) Choose() Choice {
	switch {
	case p.Use == nil:
		return p.first()
	case p.Use.Kind == Server:
		return p.server()
	}
	if ours := p.like(p.Use); len(ours) > 0 {
		return p.join(ours)
	}
	return Choice{Map: p.replaced(), Done: p.All}
}

// like returns the answers that share an ID with the map.
func (p *Poll) like(m *Map) []Answer {
	return slices.DeleteFunc(slices.Clone(p.Answers), func(a Answer) bool { return !m.knows(a.Map) })
}

// first chooses at the first contact. A server without cluster mode is used only where nobody knows
// of a cluster.
func (p *Poll) first() Choice {
	for _, kind := range []Kind{Watched, Cluster} {
		if a := p.bySeed(kind); len(a) > 0 {
			return p.join(p.like(a[0].Map))
		}
	}
	return p.server()
}

// bySeed returns the answers of the kind, those of seeds first, in the order of the seeds.
func (p *Poll) bySeed(kind Kind) []Answer {
	answers := slices.DeleteFunc(slices.Clone(p.Answers), func(a Answer) bool { return a.Map.Kind != kind })
	place := func(a Answer) int {
		if i := slices.Index(p.Seeds, a.Addr); i >= 0 {
			return i
		}
		return len(p.Seeds)
	}
	slices.SortStableFunc(answers, func(a, b Answer) int { return place(a) - place(b) })
	return answers
}

// server chooses among servers without cluster mode, which have different data. The one in use stays
// until it is a replica or gone. Then a primary is taken or, if there is none, a replica.
func (p *Poll) server() Choice {
	answers := p.bySeed(Server)
	if p.Use != nil {
		own := slices.IndexFunc(answers, func(a Answer) bool { return a.Addr == p.Use.Addr() })
		switch {
		case len(answers) == 0:
			return Choice{Map: p.replaced(), Done: p.All}
		case own >= 0 && !answers[own].Map.Follows:
			return Choice{Map: answers[own].Map, Done: true}
		case own < 0 && !p.Gone(p.Use.Addr()):
			return Choice{Done: p.All}
		case own > 0: // it is preferred to other replicas
			answers[0], answers[own] = answers[own], answers[0]
		}
	}
	if !p.All || len(answers) == 0 {
		return Choice{Done: p.All}
	}
	slices.SortStableFunc(answers, func(a, b Answer) int { return rankOf(a.Map.Follows) - rankOf(b.Map.Follows) })
	return Choice{answers[0].Map, true}
}

// replaced returns the map of the cluster that has replaced ours. All strangers are of that one
// cluster, and either all servers that were asked have answered with it, or it is at a seed and all of
// ours are gone.
func (p *Poll) replaced() *Map {
	strangers := slices.DeleteFunc(slices.Clone(p.Answers), func(a Answer) bool { return a.Map.Kind == Server })
	if !p.All || len(strangers) == 0 {
		return nil
	}
	of := strangers[0].Map
	if slices.ContainsFunc(strangers, func(a Answer) bool { return !of.knows(a.Map) }) {
		return nil
	}
	seeded := slices.ContainsFunc(strangers, func(a Answer) bool { return slices.Contains(p.Seeds, a.Addr) })
	if p.Failed+len(p.Answers) > len(strangers) && !(seeded && p.oursAreGone()) {
		return nil
	}
	anew := Poll{Seeds: p.Seeds, Answers: strangers, All: true, Gone: p.Gone}
	return anew.join(strangers).Map
}

// oursAreGone reports whether all servers that know of the map in use are gone.
func (p *Poll) oursAreGone() bool {
	if p.Use.Tellers != nil {
		return !slices.ContainsFunc(p.Use.Tellers, func(addr string) bool { return !p.Gone(addr) })
	}
	return !slices.ContainsFunc(p.Use.Ranges, func(r Range) bool { return !p.Gone(r.owner().Addr) })
}

// join decides about each slot by the answers of ours and the map in use. It is done if an answer says all
// of the result, and a second one if slots have no owner. Of Sentinels, more than half of those named have to
// answer.
func (p *Poll) join(ours []Answer) Choice {
	maps := []*Map{p.Use}
	agrees := make([]bool, len(ours))
	for i, a := range ours {
		maps, agrees[i] = append(maps, a.Map), true
	}
	var ranges []Range
	eachRun(maps, func(first, last int, rows []*Range) {
		r := p.owner(ours, rows[0], rows[1:])
		for i := range ours {
			agrees[i] = agrees[i] && rows[i+1].sameOwner(r)
		}
		if r != nil {
			part := *r
			part.First, part.Last = uint16(first), uint16(last)
			ranges = append(ranges, part)
		}
	})
	i := slices.Index(agrees, true)
	if i < 0 {
		return Choice{Map: merged(p.Use, ours, ranges), Done: p.All}
	}
	m := ours[i].Map
	if m.Kind == Watched {
		return Choice{Map: m, Done: p.All || 2*len(ours) > named(ours)}
	}
	return Choice{Map: m, Done: p.All || m.covered() == Count || slices.Contains(agrees[i+1:], true)}
}

// named returns how many Sentinels the answers name.
func named(answers []Answer) int {
	all := make(map[string]bool)
	for _, a := range answers {
		for _, addr := range a.Map.Tellers {
			all[addr] = true
		}
	}
	return len(all)
}

// owner returns the best claim among the one in use and those of the answers, each of which may be nil.
// It is the one with the greatest config epoch. The claim in use gives way to a smaller one if its own
// node is gone, or says that another node has the slot: moving a slot by hand lowers epochs.
func (p *Poll) owner(ours []Answer, use *Range, claims []*Range) *Range {
	given := func(r *Range) bool { // away, by its own node
		for i, a := range ours {
			if claims[i] != nil && r.owner().is(a.Addr, a.ID) && !claims[i].sameOwner(r) {
				return true
			}
		}
		return false
	}
	var best claim
	for i, r := range claims {
		if r == nil {
			continue
		}
		if c := (claim{r, given(r), r.owner().is(ours[i].Addr, ours[i].ID)}); best.Range == nil || c.compare(best) > 0 {
			best = c
		}
	}
	switch {
	case best.Range == nil:
		return use
	case use == nil, best.sameOwner(use), best.epoch() >= use.epoch(), given(use), p.All && p.Gone(use.owner().Addr):
		return best.Range
	}
	return use
}

// A claim is what a server says of the owner of a slot.
type claim struct {
	*Range
	given bool // away, as the owner itself says
	own   bool // the server is the owner
}

// compare compares two claims. The last comparisons are only so that the order of answers does not
// matter.
func (c claim) compare(d claim) int {
	given, own := rankOf(d.given)-rankOf(c.given), rankOf(c.own)-rankOf(d.own)
	return cmp.Or(given, cmp.Compare(c.epoch(), d.epoch()), own, cmp.Compare(c.owner().ID, d.owner().ID), cmp.Compare(c.owner().Addr, d.owner().Addr))
}

func rankOf(ahead bool) int {
	if ahead {
		return 1
	}
	return 0
}

// epoch returns the config epoch. One that is not told is as good as a new one.
func (r *Range) epoch() uint64 { return r.Epoch - 1 } // 0 becomes the greatest

// merged returns the map of ranges from several maps. A node has the name that the answers give it.
func merged(use *Map, ours []Answer, ranges []Range) *Map {
	names := make(map[string]string)
	for _, a := range slices.Backward(ours) {
		for addr, p := range a.Map.at {
			for _, id := range p.all {
				names[id] = addr
			}
		}
	}
	m := newMap(renamed(ranges, names))
	m.Kind, m.sure = ours[0].Map.Kind, use == nil || use.sure
	for _, a := range ours {
		for id := range a.Map.ids {
			m.ids[id] = true
		}
		m.Skips = append(m.Skips, a.Map.Skips...)
		m.Tellers = append(m.Tellers, a.Map.Tellers...)
		m.sure = m.sure && a.Map.sure
	}
	if m.Kind == Cluster {
		m.know(nil)
	}
	return m
}

// Stranger says why an answer does not count beside the map in use; "" if it does.
func (p *Poll) Stranger(a Answer) string {
	switch {
	case p.Use == nil || p.Use.knows(a.Map) || p.Use.Kind == Server:
		return ""
	case a.Map.Kind == Server:
		return "cluster support is disabled there: it is no node of the cluster"
	}
	return "its nodes or Sentinels have other IDs than ours: it is another cluster's"
}
