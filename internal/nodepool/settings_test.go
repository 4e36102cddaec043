package nodepool

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

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
	Lanes, MaxLanes, SlowLanes                int
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
	s.Kind, s.Min, s.Max, s.IdleTimeout, s.Strategy = KindLaned, l.Lanes, l.MaxLanes, l.IdleTimeout, l.Strategy
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
func hearing(told func(redislanes.WaitInfo)) Options {
	return Options{Trace: &redislanes.Trace{Waited: told}}
}
