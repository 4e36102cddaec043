package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/fate"
)

const (
	// forgottenRefusal is after how long a refusal that no command has met any more counts as over.
	forgottenRefusal = 10 * time.Second

	// lastingRefusal is how old a refusal of a node is when the log is told of it. Calls wait for younger
	// ones by default.
	lastingRefusal = time.Second
)

// refusals are since when nodes refuse commands, and since when slots are refused or have no
// server. The zero value is ready to use. All methods are safe for concurrent use.
type refusals struct {
	open atomic.Int32 // how many there are, for one atomic load

	mu sync.Mutex // guards what follows
	at map[attempt.Site]*refusal
}

type refusal struct {
	addr        string // of the node that refuses; "": the slot has no server
	since, last time.Time
	writes      bool // only the success of a write ends it
	told        bool // the log knows of it
}

// refused notes that a command for the slot was refused by the node at addr; "" if the slot has no
// server. It returns since when the node or the slot refuses, whichever is longer, and whether the
// log is to be told so of the node. Redirects and TRYAGAIN are about the command alone.
func (r *refusals) refused(f fate.Fate, addr string, slot int32, now time.Time) (since time.Time, tell bool) {
	if f == fate.TryAgain || f == fate.Nowhere || f == fate.Itself {
		return now, false
	}
	met := refusal{addr: addr, since: now, last: now, writes: f == fate.ReadOnly || f == fate.NoReplicas}
	r.mu.Lock()
	defer r.mu.Unlock()
	since = now
	if slot >= 0 {
		since = r.noteLocked(attempt.AtSlot(slot), met).since
		if f == fate.Unserved {
			return since, false
		}
	}
	node := r.noteLocked(attempt.AtNode(addr), met)
	if tell = !node.told && addr != "" && now.Sub(node.since) >= lastingRefusal; tell {
		node.told = true
	}
	if node.since.Before(since) {
		since = node.since
	}
	return since, tell
}

// noteLocked returns the site's refusal. It begins with met, unless it is known.
func (r *refusals) noteLocked(at attempt.Site, met refusal) *refusal {
	known := r.at[at]
	if known != nil && known.addr == met.addr && met.last.Sub(known.last) <= forgottenRefusal {
		known.last = met.last
		return known
	}
	if r.at == nil {
		r.at = make(map[attempt.Site]*refusal)
	}
	r.at[at] = &met
	r.open.Store(int32(len(r.at)))
	return &met
}

// answered notes that a command for the slot has succeeded at the node, and whether it certainly
// wrote. It returns since when the node had refused if the log was told so.
func (r *refusals) answered(addr string, slot int32, wrote bool) (since time.Time, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range [...]attempt.Site{attempt.AtSlot(slot), attempt.AtNode(addr)} {
		known := r.at[at]
		if known == nil || known.writes && !wrote {
			continue
		}
		delete(r.at, at)
		since, told = known.since, known.told
	}
	r.open.Store(int32(len(r.at)))
	return since, told
}

// forget ends the refusals that no command has met for long.
func (r *refusals) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, known := range r.at {
		if now.Sub(known.last) > forgottenRefusal {
			delete(r.at, at)
		}
	}
	r.open.Store(int32(len(r.at)))
}
