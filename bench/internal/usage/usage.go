// Package usage says what processes have used of the processors.
package usage

import (
	"context"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
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

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Disturbed is the share of the processors from which on other processes have disturbed a
// measurement.
const Disturbed = 0.1
