package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// Slow commands and large batches travel on SlowLanes lanes of their own in a laned pool, in
// addition to its other lanes. The pool wants these lanes from the first slow batch on.

// leastUsed chooses among them: FirstFit would put slow batches one behind the other.
var leastUsed lanes.Strategy = lanes.LeastUsed

// isSlow reports whether the batch travels on the lanes for slow commands.
func (p *Pool) isSlow(b *wire.Batch) bool {
	return p.SlowLanes > 0 && (b.Slow() || b.Size() >= largeBatch)
}

// wantSlowLocked makes the pool want its lanes for slow commands.
func (p *Pool) wantSlowLocked() {
	if c := &p.size.control; c.max == p.Max {
		c.min, c.max, c.target = c.min+p.SlowLanes, c.max+p.SlowLanes, c.target+p.SlowLanes
	}
}

// lanesLocked returns how many lanes take batches, those for slow commands and the others.
func (p *Pool) lanesLocked() (fast, slow int) {
	for _, m := range p.members {
		switch {
		case m.state != shared:
		case m.slow:
			slow++
		default:
			fast++
		}
	}
	return fast, slow
}

// joinsSlowLocked reports whether the connection that joins is to be a lane for slow commands: one
// while slow batches wait and have none, and the others when all other lanes are there.
func (p *Pool) joinsSlowLocked() bool {
	if !p.shared() || p.size.max == p.Max {
		return false
	}
	fast, slow := p.lanesLocked()
	return fast >= p.Max || fast > 0 && slow == 0 && p.queue.slow.len() > 0
}
