package load

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// A MachineUse is what a phase used of this machine.
type MachineUse struct {
	// Busy is the time of its processors that was used, by whatever process, and
	// All what there was; 0 where the system does not tell.
	Busy, All time.Duration
	Network   time.Duration // CPU of the proxies
}

func (u *MachineUse) add(other MachineUse) {
	u.Busy += other.Busy
	u.All += other.All
	u.Network += other.Network
}

// machineUse returns what was used so far.
func (e *Endpoint) machineUse(ctx context.Context) (u MachineUse) {
	u.Busy, u.All = usage.Machine(ctx)
	if e.network != nil {
		u.Network = usage.Of(ctx, e.network.ID())
	}
	return u
}

// since returns what was used after another moment.
func (u MachineUse) since(before MachineUse) MachineUse {
	return MachineUse{max(0, u.Busy-before.Busy), max(0, u.All-before.All), max(0, u.Network-before.Network)}
}
