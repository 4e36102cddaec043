package pool

import (
	"cmp"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
)

// Adaptive is a pool like [Fixed] whose number of connections follows the
// load, which is how many batches and users have a connection or wait for one
// at a time. When one waits, or when the load is over 90 % of the connections
// wanted so far, the pool grows at once to a size of which the load is 75 %. When
// the load has been below 30 % for IdleTimeout, the pool shrinks: to Min if that
// carries the highest load of this time, or else to a size of which it is 75 %.
// At Min, all connections may be in use: the pool grows when callers wait.
//
// A server that becomes slow looks like a higher load, so Max is also a bound on
// what a slow server is burdened with. [redislanes.PoolStats] shows the wanted size as Target,
// and the last change with its reason.
type Adaptive struct {
	// Min and Max bound the number of connections to each server. Defaults 1,
	// and 50 to each node of a cluster, 10 to a server that stands alone (or
	// Min, if that is more); at most 65,536.
	Min, Max int

	// IdleTimeout is how long the load must have been low for the pool to
	// shrink, to within two looks, which are half a second apart at most. It
	// should be longer than the time between bursts of which each is to find the
	// connections open. Default 10 s.
	IdleTimeout time.Duration

	Options
}

func (a Adaptive) settings() (nodepool.Settings, error) {
	s := a.with(nodepool.Settings{Kind: nodepool.KindAdaptive, Min: a.Min, Max: a.Max, IdleTimeout: a.IdleTimeout})
	d := s.WithDefaults(false)
	return s, cmp.Or(inRange("Adaptive", "Min", d.Min, mostConnections), inRange("Adaptive", "Max", d.Max, mostConnections),
		validateOptions("Adaptive", d), inOrder("Adaptive", "Min", d.Min, "Max", d.Max, d.IdleTimeout))
}
