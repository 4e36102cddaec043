// Package peek gives this module's own tests what is inside of a cluster of
// redistest/sim: its model and its network, which have more faults than programs need.
package peek

import (
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// Into returns the parts of a *sim.Cluster. Package sim sets it.
var Into func(cluster any) (*model.Cluster, *simnet.Network)
