package slots

// A Flaw is why a server's map of the slots is not used as it came. The greater the flaw,
// the more it takes to use the map all the same. Without this, a server that comes to a known
// address takes all slots for good.
type Flaw uint8

// The flaws.
const (
	NoFlaw   Flaw = iota
	holes         // slots have no owner: another server may know more
	lost          // slots that had an owner have none now
	contrary      // it contradicts what MOVED has taught since the map in use
	older         // a slot goes to a claim with a smaller config epoch
	asBefore      // the server in use is a replica without cluster mode, as it was before
	Foreign       // we know none of the IDs of its nodes, or of its Sentinels
	another       // it is another server without cluster mode than the one in use
	alone         // cluster support is disabled there
	replica       // the same, and it is a replica
)

// String says for logs and errors what is wrong.
func (f Flaw) String() string {
	return [...]string{
		NoFlaw:   "nothing is wrong with it",
		holes:    "slots have no owner, and no other node says the same",
		lost:     "slots that had an owner have none, and no other node says the same",
		contrary: "it contradicts what MOVED replies have said since, and most primaries do not say the same",
		older:    "it is older than the map in use by its config epochs, and most primaries or Sentinels do not say the same",
		asBefore: "it is a replica, as before: the primary is preferred",
		Foreign:  "its nodes or Sentinels have other IDs than ours: it is another cluster's",
		another:  "cluster support is disabled there, and it is not the server in use",
		alone:    "cluster support is disabled there: it is no node of the cluster",
		replica:  "cluster support is disabled there, and it is a replica",
	}[f]
}

// A Lesson is what MOVED has taught since the map in use was fetched.
type Lesson struct {
	Slot uint16
	Addr string
}

// judge returns the worst flaw of a server's map of the slots. use is the map in use, nil at the first contact.
func judge(use *Map, taught []Lesson, said *Map) Flaw {
	switch {
	case said.Sentinels != nil:
		return judgeSentinel(use, said)
	case said.Single && said.Follows:
		return judgeReplica(use, said)
	case said.Single && (use == nil || !use.Single):
		return alone // at the first contact a cluster that another seed knows is preferred
	case said.Single && said.Claims[0].Addr != use.Claims[0].Addr:
		return another // it has other data
	case use == nil || use.Single:
		return judgeSlots(nil, nil, said)
	case !use.knows(said):
		return Foreign
	}
	return judgeSlots(use, taught, said)
}

// judgeReplica judges a replica without cluster mode.
func judgeReplica(use, said *Map) Flaw {
	if use != nil && use.Follows && use.Claims[0].Addr == said.Claims[0].Addr {
		return asBefore
	}
	return replica
}

// judgeSentinel judges a primary that a Sentinel names. Each failover has a greater config epoch
// than those before it. Sentinels that we do not know may have counted from 0.
func judgeSentinel(use, said *Map) Flaw {
	if use == nil {
		return NoFlaw
	}
	now, before := said.Claims[0], use.Claims[0]
	switch {
	case now.Addr == before.Addr || now.Epoch > before.Epoch:
		return NoFlaw
	case !use.knows(said):
		return Foreign
	}
	return older
}

func judgeSlots(use *Map, taught []Lesson, said *Map) Flaw {
	worst := NoFlaw
	is, was := uint16(NoOwner), uint16(NoOwner)
	for slot, i := range said.owner {
		j := uint16(NoOwner)
		if use != nil {
			j = use.owner[slot]
		}
		if slot == 0 || i != is || j != was { // most slots are as the one before
			is, was = i, j
			worst = max(worst, judgeSlot(use, said, slot))
		}
	}
	for _, l := range taught {
		now, ok := said.claimOf(int(l.Slot))
		before, owned := use.claimOf(int(l.Slot))
		// A greater epoch of the old owner proves nothing: it also grows when that node gets other
		// slots. Only a greater epoch of another node overrules MOVED.
		newer := ok && owned && before.Epoch > 0 && now.Epoch > before.Epoch && !now.sameNode(before)
		if !newer && (!ok || now.Addr != l.Addr) {
			worst = max(worst, contrary)
		}
	}
	return worst
}

func judgeSlot(use, said *Map, slot int) Flaw {
	now, ok := said.claimOf(slot)
	var before Claim
	owned := false
	if use != nil {
		before, owned = use.claimOf(slot)
	}
	switch {
	case !ok && owned:
		return lost
	case !ok:
		return holes
	case owned && !now.sameNode(before) && 0 < now.Epoch && now.Epoch < before.Epoch:
		return older
	}
	return NoFlaw
}
