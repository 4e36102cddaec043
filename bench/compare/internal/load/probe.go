package load

import (
	"context"
	"time"

	"github.com/mediocregopher/radix/v4"
)

const (
	// An idle round trip is the median of so many, or of what this time has room
	// for, one at least.
	idleProbes = 15
	idleTime   = 300 * time.Millisecond

	probeTimeout = 5 * time.Second
)

// A probe is a connection of its own over the endpoint's network to one of its
// nodes, on which nothing but PING travels: what a round trip takes, apart from
// what the pools do.
type probe struct{ conn radix.Conn }

// dialProbe returns no probe where there is no address, or nobody answers: the
// measurement then says nothing of round trips.
func (e *Endpoint) dialProbe(ctx context.Context) *probe {
	if e.probed == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := e.dialer.Dial(ctx, "tcp", e.probed)
	if err != nil {
		return nil
	}
	return &probe{conn}
}

func (p *probe) close() {
	if p != nil {
		_ = p.conn.Close()
	}
}

// ping records one round trip, and reports whether there was one.
func (p *probe) ping(ctx context.Context, to Histogram) bool {
	began := time.Now()
	if err := p.conn.Do(ctx, radix.Cmd(nil, "PING")); err != nil {
		return false
	}
	_ = to.RecordValue(min(time.Since(began), longest).Nanoseconds()) // within its bounds
	return true
}

// idle records round trips one after the other.
func (p *probe) idle(ctx context.Context, to Histogram) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := time.Now()
	for i := 0; i < idleProbes && (i == 0 || time.Since(began) < idleTime); i++ {
		if !p.ping(ctx, to) {
			return
		}
	}
}

// loaded records round trips, as often as pools are sampled, until the context
// ends.
func (p *probe) loaded(ctx context.Context, to Histogram) {
	if p == nil {
		return
	}
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
