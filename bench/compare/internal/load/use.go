package load

import (
	"context"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// Use is how an endpoint's pools were used.
type Use struct {
	MaxWaiters    int     // batches waiting at a time, on all nodes together
	MaxSaturation float64 // of the node where it was highest, 0 to 1
	Waited        uint64  // batches that had to wait for a connection
	Dials, Closes uint64  // connections opened and closed
	Samples       []Sample
}

// A Sample is how many connections are open, to all nodes together.
type Sample struct {
	At   time.Duration `json:"at_ns"` // since the turn's first phase began
	Open int           `json:"open"`
}

func (u *Use) add(other Use) {
	u.MaxWaiters = max(u.MaxWaiters, other.MaxWaiters)
	u.MaxSaturation = max(u.MaxSaturation, other.MaxSaturation)
	u.Waited += other.Waited
	u.Dials += other.Dials
	u.Closes += other.Closes
	u.Samples = append(u.Samples, other.Samples...)
}

// sampleEvery is rare enough that the snapshots, which allocate, do not show in
// the allocations of a request.
const sampleEvery = 50 * time.Millisecond

// count adds the counters of all nodes' pools, each so many times.
func (u *Use) count(s redislanes.Stats, times int64) {
	for _, n := range s.Nodes {
		u.Waited += uint64(times) * n.Pool.WaitCount
		u.Dials += uint64(times) * n.Pool.Dials
		for _, closes := range n.Pool.Closes {
			u.Closes += uint64(times) * closes
		}
	}
}

// watch samples the pools until the context ends.
func (u *Use) watch(ctx context.Context, client *cluster.Client, origin time.Time) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		sample, waiters := Sample{At: time.Since(origin)}, 0
		for _, n := range client.Stats().Nodes {
			sample.Open += n.Pool.Open
			waiters += n.Pool.Waiters
			u.MaxSaturation = max(u.MaxSaturation, n.Pool.Saturation())
		}
		u.MaxWaiters = max(u.MaxWaiters, waiters)
		u.Samples = append(u.Samples, sample)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

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
			return ServerUse{} // it has restarted
		}
		u.CPU += d.CPU
		u.Busiest = max(u.Busiest, d.CPU.Seconds()/took.Seconds())
		u.Received += uint64(d.Received)
		u.Sent += uint64(d.Sent)
	}
	return u
}

const (
	// An idle round trip is the median of so many, or of what this time has room for, one at least.
	idleProbes = 15
	idleTime   = 300 * time.Millisecond

	probeTimeout = 5 * time.Second
)

// A probe is a connection of its own over the endpoint's network to one of its nodes, on which
// nothing but PING travels: what a round trip takes, apart from what the pools do.
type probe struct{ conn radix.Conn }

// dialProbe returns a probe that records nothing if nobody answers.
func (e *Endpoint) dialProbe(ctx context.Context) (p probe) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	p.conn, _ = e.dialer.Dial(ctx, "tcp", e.probed)
	return p
}

func (p probe) close() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

// ping records one round trip, and reports whether there was one.
func (p probe) ping(ctx context.Context, to Histogram) bool {
	began := time.Now()
	if p.conn == nil || p.conn.Do(ctx, radix.Cmd(nil, "PING")) != nil {
		return false
	}
	_ = to.RecordValue(min(time.Since(began), longest).Nanoseconds()) // within its bounds
	return true
}

// idle records round trips one after the other.
func (p probe) idle(ctx context.Context, to Histogram) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := time.Now()
	for i := 0; i < idleProbes && (i == 0 || time.Since(began) < idleTime); i++ {
		if !p.ping(ctx, to) {
			return
		}
	}
}

// loaded records round trips, as often as pools are sampled, until the context ends.
func (p probe) loaded(ctx context.Context, to Histogram) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for p.ping(ctx, to) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
