package usage

import (
	"strconv"
	"strings"
	"time"
)

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

// Since returns what was done after another moment. It is negative if the server was started anew.
func (s Server) Since(before Server) Server {
	return Server{s.CPU - before.CPU, s.Received - before.Received, s.Sent - before.Sent, s.IncrBys - before.IncrBys}
}
