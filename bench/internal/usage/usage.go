// Package usage says what processes have used of the processors.
package usage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

// A Server is what a server has done since it started, by its own account.
type Server struct {
	CPU            time.Duration
	Received, Sent int64 // bytes
	IncrBys        int64 // commands
}

// ParseInfo reads the reply to INFO. Known is whether it has all but the commands.
func ParseInfo(info string) (s Server, known bool) {
	found := 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value, _, _ = strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			s.CPU += time.Duration(v * float64(time.Second))
		case "total_net_input_bytes":
			s.Received = int64(v)
		case "total_net_output_bytes":
			s.Sent = int64(v)
		case "cmdstat_incrby":
			s.IncrBys = int64(v)
			continue
		default:
			continue
		}
		found++
	}
	return s, found == 4
}

// Since returns what was done after another moment. It is negative if the server has restarted.
func (s Server) Since(before Server) Server {
	return Server{s.CPU - before.CPU, s.Received - before.Received, s.Sent - before.Sent, s.IncrBys - before.IncrBys}
}
