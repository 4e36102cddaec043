package pool

import (
	"cmp"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/setting"
)

// Adaptive is a pool like [Fixed] with a number of connections that follows the load. The load
// is the number of batches and users that have a connection or wait for one.
//
//   - The pool grows at once when a caller waits, and within half a second when the load is over
//     90 % of the target. At Min it grows only when the load is over Min. The new target is load ÷ 75 %.
//   - The pool shrinks when the load has been below 30 % of the target for IdleTimeout. The new
//     target is Min if Min carries the highest load of that time, or else that load ÷ 75 %.
//
// The target stays between Min and Max. Max also bounds how many batches a slow server gets at
// a time, since a slow server looks like a higher load. A line of the log tells each change with its
// reason.
type Adaptive struct {
	// Min and Max bound the number of connections to each server. Defaults 1,
	// and 50 to each node of a cluster, 10 to a server that stands alone (or
	// Min, if that is more); at most 65,536.
	Min, Max int

	// IdleTimeout is how long the load must be low before the pool shrinks. The pool may
	// shrink up to a second later. Make it longer than the time between bursts, so that each
	// burst finds the connections open. Default 10 s, at least 1 ms.
	IdleTimeout time.Duration

	Options
}

func (a Adaptive) settings() (nodepool.Settings, error) {
	s := a.with(nodepool.Settings{Kind: nodepool.KindAdaptive, Min: a.Min, Max: a.Max, IdleTimeout: a.IdleTimeout})
	d := s.WithDefaults(false)
	return s, cmp.Or(inRange("Adaptive", "Min", d.Min, mostConnections), inRange("Adaptive", "Max", d.Max, mostConnections),
		inOrder(d.Min, d.Max), setting.Duration("pool: Adaptive.IdleTimeout", d.IdleTimeout, setting.Least, 0, ""), validateOptions("Adaptive", d))
}
