// Package usage says what processes have used of the processors.
package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// Machine returns how long the processors have worked since the start of the system, for
// whatever process, and how long they could have. Both are 0 where the system does not tell.
func Machine(ctx context.Context) (busy, all time.Duration) {
	times, err := cpu.TimesWithContext(ctx, false)
	if err != nil || len(times) != 1 {
		return 0, 0
	}
	t := times[0]
	busy = seconds(t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal)
	return busy, busy + seconds(t.Idle+t.Iowait) // not less than busy by a rounding
}

// Of returns the CPU time that a process has used so far; 0 where the system does not tell.
func Of(ctx context.Context, id int) time.Duration {
	p := process.Process{Pid: int32(id)}
	t, err := p.TimesWithContext(ctx)
	if err != nil {
		return 0
	}
	return seconds(t.User + t.System)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Disturbed is the share of the processors from which on other processes have disturbed a
// measurement.
const Disturbed = 0.1

// Warning says that other processes have disturbed some of all turns or rows; "" if they have not.
func Warning(disturbed, all int, what string) string {
	if disturbed == 0 {
		return ""
	}
	return fmt.Sprintf("Other processes used more than %.0f %% of the processors in %d of %d %s: measure again when the machine is quiet.\n",
		100*Disturbed, disturbed, all, what)
}
