package load

import (
	"context"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/bench/internal/usage"
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

// serverCounts asks all primaries, on connections of its own past any network; nil
// if one of them does not say.
func (e *Endpoint) serverCounts(ctx context.Context) (all []usage.Server) {
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

func askServer(ctx context.Context, d radix.Dialer, addr string) (c usage.Server, ok bool) {
	conn, err := d.Dial(ctx, "tcp", addr)
	if err != nil {
		return c, false
	}
	defer conn.Close()
	var info string
	if err := conn.Do(ctx, radix.Cmd(&info, "INFO")); err != nil {
		return c, false
	}
	return usage.ParseInfo(info)
}

// serverUse returns what the servers did between two answers, in so long a time.
func serverUse(before, after []usage.Server, took time.Duration) (u ServerUse) {
	if len(before) == 0 || len(before) != len(after) || took <= 0 {
		return u
	}
	u.Known = true
	for i, b := range before {
		d := after[i].Since(b)
		if d.CPU < 0 || d.Received < 0 || d.Sent < 0 {
			return ServerUse{} // it was started anew
		}
		u.CPU += d.CPU
		u.Busiest = max(u.Busiest, d.CPU.Seconds()/took.Seconds())
		u.Received += uint64(d.Received)
		u.Sent += uint64(d.Sent)
	}
	return u
}
