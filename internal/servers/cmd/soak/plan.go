package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A kind is what a fault does.
type kind string

const (
	reshard    kind = "reshard"     // slots with keys move to another primary
	failover   kind = "failover"    // CLUSTER FAILOVER of a replica
	stop       kind = "stop"        // SIGSTOP and, later, SIGCONT
	kill       kind = "kill"        // SIGKILL of a primary, a promotion, a restart
	clientKill kind = "client-kill" // CLIENT KILL TYPE normal, again and again
	shardLost  kind = "shard-lost"  // SIGKILL of a primary and its replicas, later a restart
)

var (
	losslessKinds = []kind{reshard, failover, clientKill, stop}
	lossyKinds    = append(slices.Clone(losslessKinds), kill, shardLost)
)

const (
	nodeTimeout = 2 * time.Second

	// longestStall cannot cause a failover, with a margin for a busy machine.
	longestStall = nodeTimeout * 2 / 5

	mostSlots = 6 // that one fault moves
)

// A fault is what to do. The roles at that time decide which nodes are fit; pick chooses one.
type fault struct {
	kind  kind
	pick  int
	slots int
	hold  time.Duration
	quiet time.Duration // how long the load goes on undisturbed afterwards
}

func (f fault) String() string { return fmt.Sprintf("%s for %v", f.kind, f.hold) }

// mayLose reports whether Redis may lose acknowledged writes by the fault.
func (f fault) mayLose() bool {
	return !slices.Contains(losslessKinds, f.kind) || f.kind == stop && f.hold > longestStall
}

// A plan yields the faults of one episode. It depends on the seed, the episode's number and the settings only.
type plan struct {
	random *rand.Rand
	lossy  bool
	kinds  []kind
}

func newPlan(s settings, episode int) *plan {
	random := rand.New(rand.NewPCG(s.seed, uint64(episode)))
	p := &plan{random: random, lossy: random.IntN(2) == 1, kinds: losslessKinds}
	if p.lossy {
		p.kinds = lossyKinds
	}
	if len(s.kinds) > 0 {
		p.kinds = s.kinds
		p.lossy = p.lossy || slices.ContainsFunc(s.kinds, func(k kind) bool { return !slices.Contains(losslessKinds, k) })
	}
	return p
}

// next draws a fault, with the same number of draws for each kind.
func (p *plan) next() fault {
	f := fault{
		kind: p.kinds[p.random.IntN(len(p.kinds))], pick: p.random.IntN(1 << 20), slots: 1 + p.random.IntN(mostSlots),
		hold: p.between(50*time.Millisecond, 2*time.Second), quiet: p.between(300*time.Millisecond, time.Second),
	}
	switch {
	case f.kind == failover:
		f.hold = 0
	case !p.lossy:
		f.hold = f.hold * 2 / 5 // longestStall at most
	case f.kind == stop:
		f.hold *= 3 // often longer than the node timeout
	}
	return f
}

func (p *plan) between(from, to time.Duration) time.Duration {
	return (from + time.Duration(p.random.Int64N(int64(to-from)+1))).Round(time.Millisecond)
}
