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
	reshard     kind = "reshard"      // slots with keys go to another primary
	failover    kind = "failover"     // CLUSTER FAILOVER of a replica
	force       kind = "force"        // CLUSTER FAILOVER FORCE
	takeover    kind = "takeover"     // CLUSTER FAILOVER TAKEOVER
	stop        kind = "stop"         // SIGSTOP and, later, SIGCONT
	kill        kind = "kill"         // SIGKILL of a primary, a promotion, a restart
	clientKill  kind = "client-kill"  // CLIENT KILL TYPE normal, again and again
	clientPause kind = "client-pause" // CLIENT PAUSE
	debugSleep  kind = "debug-sleep"  // DEBUG SLEEP
	throttle    kind = "throttle"     // new connections pass a link that carries little
	hangUp      kind = "hang-up"      // a killed primary's address answers greetings and hangs up
	standalone  kind = "standalone"   // a killed primary's address leads to a server without cluster mode
	shardLost   kind = "shard-lost"   // SIGKILL of a primary and all of its replicas, later a restart
	nothing     kind = "quiet time"
)

var (
	losslessKinds = []kind{reshard, failover, clientKill, stop, clientPause, debugSleep, throttle}
	lossyKinds    = []kind{reshard, failover, clientKill, stop, clientPause, debugSleep, throttle, force, takeover, kill, hangUp, standalone, shardLost}
)

// A fault is what to do. Which node it is done to depends on the roles at that
// time: pick chooses among those that are fit.
type fault struct {
	kind    kind
	pick    int
	primary bool // only primaries are fit
	slots   []int
	target  int // picks where the slots go
	hold    time.Duration
	quiet   time.Duration // how long the load goes on undisturbed afterwards
}

func (f fault) String() string {
	switch {
	case f.kind == reshard:
		return fmt.Sprintf("%s of %d slots", f.kind, len(f.slots))
	case f.hold > 0:
		return fmt.Sprintf("%s for %v", f.kind, f.hold)
	}
	return string(f.kind)
}

// A plan yields the faults of one episode. It depends on nothing but the seed,
// the episode's number and the settings.
type plan struct {
	random      *rand.Rand
	lossy       bool
	kinds       []kind
	slots       int
	nodeTimeout time.Duration
}

func newPlan(seed uint64, episode int, s settings) *plan {
	random := rand.New(rand.NewPCG(seed, uint64(episode)))
	p := &plan{random: random, lossy: random.IntN(2) == 1, slots: s.slots(), nodeTimeout: s.nodeTimeout}
	if p.kinds = losslessKinds; p.lossy {
		p.kinds = lossyKinds
	}
	if len(s.faults) > 0 {
		p.lossy = p.lossy || !subset(s.faults, losslessKinds)
		p.kinds = s.faults
	}
	return p
}

func subset(some, all []kind) bool {
	return !slices.ContainsFunc(some, func(k kind) bool { return !slices.Contains(all, k) })
}

const maxReshard = 6 // slots in one batch

// longestStall is the longest stall that cannot cause a failover, with a
// margin for a busy machine.
func longestStall(nodeTimeout time.Duration) time.Duration { return nodeTimeout * 2 / 5 }

// next draws the next fault. It always draws the same number of values for the
// same kind, whatever they are used for.
func (p *plan) next() fault {
	f := fault{
		kind:    p.kinds[p.random.IntN(len(p.kinds))],
		pick:    p.random.IntN(1 << 20),
		primary: p.random.IntN(4) > 0, // replicas serve nobody here
		quiet:   p.between(300*time.Millisecond, time.Second),
	}
	switch f.kind {
	case reshard:
		f.slots = p.random.Perm(p.slots)[:1+p.random.IntN(min(maxReshard, p.slots))]
		f.target = p.random.IntN(1 << 20)
		f.hold = p.between(0, 50*time.Millisecond)
	case stop:
		f.hold = p.stall(200*time.Millisecond, 2*time.Second)
		if p.lossy && p.random.IntN(2) == 1 {
			f.hold = p.between(p.nodeTimeout*5/4, 3*p.nodeTimeout)
		}
	case clientKill:
		f.hold = p.between(0, 300*time.Millisecond)
	case clientPause:
		f.hold = p.stall(50*time.Millisecond, 500*time.Millisecond)
	case debugSleep:
		f.hold = p.stall(100*time.Millisecond, time.Second)
	case throttle, hangUp, standalone:
		f.hold = p.between(500*time.Millisecond, 2*time.Second)
	case shardLost:
		f.hold = p.between(500*time.Millisecond, 1500*time.Millisecond)
	}
	return f
}

// stall draws the length of a stall, short enough for the sort of episode.
func (p *plan) stall(from, to time.Duration) time.Duration {
	if longest := longestStall(p.nodeTimeout); !p.lossy {
		to = min(to, longest)
	}
	return p.between(from, to)
}

func (p *plan) between(from, to time.Duration) time.Duration {
	return (from + time.Duration(p.random.Int64N(int64(to-from)+1))).Round(time.Millisecond)
}

// mayLose reports whether Redis may lose acknowledged writes by the fault.
func (f fault) mayLose(nodeTimeout time.Duration) bool {
	switch f.kind {
	case force, takeover, kill, hangUp, standalone, shardLost:
		return true
	case stop, clientPause, debugSleep:
		return f.hold > longestStall(nodeTimeout)
	}
	return false
}
