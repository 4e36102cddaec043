package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

var within = servers.Within

// open returns a pool to a real server.
func open(t testing.TB, c Config, server *servers.Cluster) *Node {
	t.Helper()
	p, err := New(c, lanes.Dialer{}, server.Addrs()[0], nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// simulated returns a pool to a simulated server.
func simulated(t testing.TB, c Config, d lanes.Dialer) *Node {
	t.Helper()
	p, err := New(c, d, "simulated:1", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func exclusiveIn(p *Node) *exclusiveAccess { return p.main.access.(*exclusiveAccess) }

func idleIn(p *Pool) []*member {
	if a, ok := p.access.(*exclusiveAccess); ok {
		return a.idle
	}
	return nil
}

// until waits for something that another goroutine or process brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx := within(t, 10*time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func get(t testing.TB, p *Node, key string) string {
	t.Helper()
	var got string
	require.NoError(t, p.Do(within(t, 5*time.Second), radix.Cmd(&got, "GET", key)))
	return got
}

var kinds = map[string]Config{
	"fixed":    Fixed{Size: 3},
	"adaptive": Adaptive{Min: 1, Max: 3},
	"laned":    Laned{Lanes: 3},
}

// noted makes the dialer note its connections. ends closes those that there are.
func noted(d *lanes.Dialer) (ends func()) {
	var mu sync.Mutex
	var conns []net.Conn
	dial := d.NetDial
	d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		}
		return conn, err
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// Short forms of Settings for tests. Package pool, which makes those of a user, imports
// this one. They are neither checked nor documented.

type Config interface{ settings() Settings }

type Options = Settings

type Fixed struct {
	Size int
	Options
}

type Adaptive struct {
	Min, Max    int
	IdleTimeout time.Duration
	Options
}

type Laned struct {
	Lanes, SlowLanes                          int
	MaxInFlight, MaxQueuedBytes, MaxDedicated int
	IdleTimeout                               time.Duration
	Strategy                                  lanes.Strategy
	Options
}

func (f Fixed) settings() Settings {
	s := f.Options
	s.Kind, s.Max = KindFixed, f.Size
	return s
}

func (a Adaptive) settings() Settings {
	s := a.Options
	s.Kind, s.Min, s.Max, s.IdleTimeout = KindAdaptive, a.Min, a.Max, a.IdleTimeout
	return s
}

func (l Laned) settings() Settings {
	s := l.Options
	s.Kind, s.Max, s.IdleTimeout, s.Strategy = KindLaned, l.Lanes, l.IdleTimeout, l.Strategy
	s.MaxInFlight, s.MaxQueued, s.MaxDedicated, s.SlowLanes = l.MaxInFlight, l.MaxQueuedBytes, l.MaxDedicated, l.SlowLanes
	return s
}

// New returns a pool for any purpose, to a server that stands alone.
func New(c Config, d lanes.Dialer, addr string, log *slog.Logger) (*Node, error) {
	if err := wire.CheckAddr(addr); err != nil {
		return nil, fmt.Errorf("pool: the address cannot be used: %w", err)
	}
	return NewFor(c.settings(), d, wire.Purpose{}, addr, log)
}

// hearing returns options with a trace that is told of waits.
func hearing(told func(*redislanes.PoolInfo, time.Duration)) Options {
	return Options{Trace: &redislanes.Trace{Waited: told}}
}

// figures are what tests look at: the statistics, with those of dedicated connections and of lanes
// for slow commands apart, and what statistics do not have.
type figures struct {
	redislanes.PoolStats
	Target, Idle, Dialing, Dedicated, Extra int
	InFlight, SlowInFlight                  int
	Suspect                                 bool
}

func (n *Node) figures() figures {
	f := figures{PoolStats: n.Stats()}
	f.Open, f.InUse = 0, 0
	for i, p := range n.pools() {
		p.mu.Lock()
		f.Dialing += p.dials.underWay
		for _, m := range p.members {
			k := m.lane.InFlight()
			if m.state == dedicated {
				f.Dedicated++
			}
			switch {
			case i > 0:
				f.Extra++
			case m.slow:
				f.Extra++
				f.SlowInFlight += k
			default:
				f.Open++
				f.InFlight += k
				if m.state != isIdle && k > 0 || m.state == busy || m.state == dedicated {
					f.InUse++
				}
			}
		}
		if i == 0 {
			f.Target = p.size.target - (p.size.max - p.Max)
			f.Suspect = p.health.State() == health.Suspect
			f.Down = p.health.State() == health.Down
		}
		p.mu.Unlock()
	}
	f.Idle = f.Open - f.InUse
	return f
}
