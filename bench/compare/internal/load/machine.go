package load

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// A MachineUse is what a phase used of this machine and of this process.
type MachineUse struct {
	// Busy is the time of its processors that was used, by whatever process, and
	// All what there was; 0 where the system does not tell.
	Busy, All time.Duration
	Network   time.Duration // CPU of the proxies

	Pauses       uint32 // of the garbage collector
	PauseTime    time.Duration
	LongestPause time.Duration
}

func (u *MachineUse) add(other MachineUse) {
	u.Busy += other.Busy
	u.All += other.All
	u.Network += other.Network
	u.Pauses += other.Pauses
	u.PauseTime += other.PauseTime
	u.LongestPause = max(u.LongestPause, other.LongestPause)
}

// A machineCount is what was used since some time before.
type machineCount struct {
	busy, all, network time.Duration
}

func (e *Endpoint) machineCount(ctx context.Context) (c machineCount) {
	c.busy, c.all = usage.Machine(ctx)
	if e.network != nil {
		c.network = e.network.cpu(ctx)
	}
	return c
}

// cpu returns what the network's process has used so far; 0 where the system does
// not tell.
func (n *network) cpu(ctx context.Context) time.Duration {
	p := process.Process{Pid: int32(n.cmd.Process.Pid)}
	t, err := p.TimesWithContext(ctx)
	if err != nil {
		return 0
	}
	return time.Duration((t.User + t.System) * float64(time.Second))
}

// machineUse returns what was used between two counts, and what the garbage
// collector did.
func machineUse(before, after machineCount, memory, memoryAfter *runtime.MemStats) MachineUse {
	u := MachineUse{
		Busy: max(0, after.busy-before.busy), All: max(0, after.all-before.all), Network: max(0, after.network-before.network),
		Pauses: memoryAfter.NumGC - memory.NumGC, PauseTime: time.Duration(memoryAfter.PauseTotalNs - memory.PauseTotalNs),
	}
	kept := uint32(len(memoryAfter.PauseNs)) // the latest ones are in a ring
	for i := range min(u.Pauses, kept) {
		pause := memoryAfter.PauseNs[(memoryAfter.NumGC-i+kept-1)%kept]
		u.LongestPause = max(u.LongestPause, time.Duration(pause))
	}
	return u
}

// A processState is the size of this process.
type processState struct{ samples []metrics.Sample }

func newProcessState() *processState {
	return &processState{[]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}}}
}

// read returns the bytes of the heap's objects and the number of goroutines now.
func (p *processState) read() (heap uint64, goroutines int) {
	metrics.Read(p.samples)
	return p.samples[0].Value.Uint64(), int(p.samples[1].Value.Uint64())
}
