package load

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// A ServerUse is what the servers did in a phase, by what they say of themselves:
// where others use the cluster, they are in it.
type ServerUse struct {
	Known    bool          // they said it
	CPU      time.Duration // of all together
	Busiest  float64       // share of one processor that the busiest one used, in the round where it was highest
	Received uint64        // bytes, from clients
	Sent     uint64        // bytes, to clients
}

func (u *ServerUse) add(other ServerUse) {
	u.Known = u.Known || other.Known
	u.CPU += other.CPU
	u.Busiest = max(u.Busiest, other.Busiest)
	u.Received += other.Received
	u.Sent += other.Sent
}

// A serverCount is what one server has used since its start.
type serverCount struct {
	cpu            time.Duration
	received, sent uint64
}

// serverCounts asks all primaries, on connections of its own past any network; nil
// if one of them does not say.
func (e *Endpoint) serverCounts(ctx context.Context) (all []serverCount) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, addr := range e.servers {
		c, ok := askServer(ctx, e.dialer, addr)
		if !ok {
			return nil
		}
		all = append(all, c)
	}
	return all
}

func askServer(ctx context.Context, d radix.Dialer, addr string) (c serverCount, ok bool) {
	conn, err := d.Dial(ctx, "tcp", addr)
	if err != nil {
		return c, false
	}
	defer conn.Close()
	var info string
	if err := conn.Do(ctx, radix.Cmd(&info, "INFO")); err != nil {
		return c, false
	}
	return parseCounts(info)
}

// parseCounts reads the reply to INFO.
func parseCounts(info string) (c serverCount, ok bool) {
	found := 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			c.cpu += time.Duration(v * float64(time.Second))
		case "total_net_input_bytes":
			c.received = uint64(v)
		case "total_net_output_bytes":
			c.sent = uint64(v)
		default:
			continue
		}
		found++
	}
	return c, found == 4
}

// serverUse returns what the servers did between two answers, in so long a time.
func serverUse(before, after []serverCount, took time.Duration) (u ServerUse) {
	if len(before) == 0 || len(before) != len(after) || took <= 0 {
		return u
	}
	u.Known = true
	for i, b := range before {
		a := after[i]
		if a.cpu < b.cpu || a.received < b.received || a.sent < b.sent {
			return ServerUse{} // it was started anew
		}
		u.CPU += a.cpu - b.cpu
		u.Busiest = max(u.Busiest, (a.cpu-b.cpu).Seconds()/took.Seconds())
		u.Received += a.received - b.received
		u.Sent += a.sent - b.sent
	}
	return u
}
