package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

const (
	fixed    = "fixed"
	adaptive = "adaptive"
	laned    = "laned"
)

// Pool is the kind of pool and its settings; 0 is the library's default.
type Pool struct {
	Kind        string // fixed, adaptive or laned
	Size        int    // of fixed
	Min, Max    int    // of adaptive
	IdleTimeout Span   `yaml:"idle_timeout"` // of adaptive
	Lanes       int    // of laned
	SlowLanes   int    `yaml:"slow_lanes"`    // of laned
	NoSlowLanes bool   `yaml:"no_slow_lanes"` // of laned
	Strategy    string // of laned
}

// UnmarshalYAML is part of yaml.Unmarshaler. A pool replaces the whole one before.
func (p *Pool) UnmarshalYAML(n *yaml.Node) error {
	type plain Pool
	*p = Pool{}
	return decodeNode(n, (*plain)(p))
}

// Defaults of the library, for names.
const (
	defaultSize  = 50
	defaultLanes = 4
)

var strategies = map[string]lanes.Strategy{
	"first_fit": lanes.FirstFit, "round_robin": lanes.RoundRobin, "least_used": lanes.LeastUsed,
	"affinity": lanes.Affinity, "power_of_two": lanes.PowerOfTwo, "by_key": lanes.ByKey,
}

// validate reports what belongs to another kind of pool.
func (p Pool) validate() error {
	of := map[string]Pool{
		fixed:    {Kind: fixed, Size: p.Size},
		adaptive: {Kind: adaptive, Min: p.Min, Max: p.Max, IdleTimeout: p.IdleTimeout},
		laned:    {Kind: laned, Lanes: p.Lanes, SlowLanes: p.SlowLanes, NoSlowLanes: p.NoSlowLanes, Strategy: p.Strategy},
	}
	if own, ok := of[p.Kind]; !ok || own != p {
		return fmt.Errorf("pool %+v: want a kind (fixed, adaptive or laned) and keys of that kind", p)
	}
	if p.Strategy != "" && strategies[p.Strategy] == nil {
		return fmt.Errorf("pool.strategy %s: want one of %s", p.Strategy, strings.Join(slices.Sorted(maps.Keys(strategies)), ", "))
	}
	return nil
}

// Config returns the library's settings.
func (p Pool) Config() pool.Config {
	switch p.Kind {
	case fixed:
		return pool.Fixed{Size: p.Size}
	case adaptive:
		return pool.Adaptive{Min: p.Min, Max: p.Max, IdleTimeout: p.IdleTimeout.Duration}
	}
	slow := p.SlowLanes
	if p.NoSlowLanes {
		slow = -1
	}
	return pool.Laned{Lanes: p.Lanes, SlowLanes: slow, Strategy: strategies[p.Strategy]}
}

// Connections returns the number of connections to each node that the pool is
// named by: the most, of a pool that has a range.
func (p Pool) Connections() int {
	switch p.Kind {
	case fixed:
		return cmp.Or(p.Size, defaultSize)
	case adaptive:
		return cmp.Or(p.Max, max(defaultSize, p.Min))
	}
	return cmp.Or(p.Lanes, defaultLanes)
}

// String names the pool by what was set, such as laned-8-round_robin.
func (p Pool) String() string {
	name := p.Kind
	if p.Kind == adaptive {
		name += fmt.Sprintf("-%d", cmp.Or(p.Min, 1))
	}
	name += fmt.Sprintf("-%d", p.Connections())
	if p.Strategy != "" {
		name += "-" + p.Strategy
	}
	if p.SlowLanes != 0 {
		name += fmt.Sprintf("-slow%d", p.SlowLanes)
	}
	if p.NoSlowLanes {
		name += "-noslow"
	}
	if p.IdleTimeout.Duration != 0 {
		name += "-idle" + p.IdleTimeout.String()
	}
	return name
}
