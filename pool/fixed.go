package pool

import (
	"cmp"

	"github.com/redislanes/redislanes/internal/nodepool"
)

// Fixed is a pool of Size connections. Each serves one batch at a time. Batches that find all
// connections in use wait in order. A blocking command, a transaction or a radix.WithConn uses one of
// the connections for its whole time.
type Fixed struct {
	// Size is the number of connections to each server. Default 50 to each node
	// of a cluster, 10 to a server that stands alone; at most 65,536.
	Size int

	Options
}

func (f Fixed) settings() (nodepool.Settings, error) {
	s := f.with(nodepool.Settings{Kind: nodepool.KindFixed, Max: f.Size})
	d := s.WithDefaults(false)
	return s, cmp.Or(inRange("Fixed", "Size", d.Max, mostConnections), validateOptions("Fixed", d))
}
