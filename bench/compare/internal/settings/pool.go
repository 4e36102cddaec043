package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

const (
	fixed    = "fixed"
	adaptive = "adaptive"
	laned    = "laned"
)

var poolKinds = []string{fixed, adaptive, laned}

// Pool is the kind of pool and its settings; 0 is the library's default.
type Pool struct {
	Kind        string        // fixed, adaptive or laned
	Size        int           // of fixed
	Min, Max    int           // of adaptive
	IdleTimeout time.Duration // of adaptive
	Lanes       int           // of laned
	SlowLanes   int           // of laned
	NoSlowLanes bool          // of laned
	Strategy    string        // of laned
	MaxInFlight int           // of laned
	MaxWaiters  int
	FailFast    bool
}

// defaultSize is the size of a pool.Fixed to a node of a cluster.
const defaultSize = 50

var strategies = map[string]lanes.Strategy{
	"first_fit": lanes.FirstFit, "round_robin": lanes.RoundRobin, "least_used": lanes.LeastUsed,
	"affinity": lanes.Affinity, "power_of_two": lanes.PowerOfTwo, "by_key": lanes.ByKey,
}

var strategyNames = []string{"first_fit", "round_robin", "least_used", "affinity", "power_of_two", "by_key"}

// A poolField is one key of a pool.
type poolField struct {
	name  string
	kinds []string // that have it
	set   set
}

// most is a bound that only catches slips of the finger.
const most = 100_000

// poolFields are the keys of a pool. A new setting of the library is a line here
// and one in Config.
var poolFields = []poolField{
	{"kind", poolKinds, choice(poolKinds, func(l *Load) *string { return &l.Pool.Kind })},
	{"size", []string{fixed}, wholeNumber(1, most, func(l *Load) *int { return &l.Pool.Size })},
	{"min", []string{adaptive}, wholeNumber(1, most, func(l *Load) *int { return &l.Pool.Min })},
	{"max", []string{adaptive}, wholeNumber(1, most, func(l *Load) *int { return &l.Pool.Max })},
	{"idle_timeout", []string{adaptive}, span(time.Millisecond, func(l *Load) *time.Duration { return &l.Pool.IdleTimeout })},
	{"lanes", []string{laned}, wholeNumber(1, most, func(l *Load) *int { return &l.Pool.Lanes })},
	{"slow_lanes", []string{laned}, wholeNumber(1, most, func(l *Load) *int { return &l.Pool.SlowLanes })},
	{"no_slow_lanes", []string{laned}, boolean(func(l *Load) *bool { return &l.Pool.NoSlowLanes })},
	{"strategy", []string{laned}, choice(strategyNames, func(l *Load) *string { return &l.Pool.Strategy })},
	{"max_in_flight", []string{laned}, wholeNumber(1, most, func(l *Load) *int { return &l.Pool.MaxInFlight })},
	{"max_waiters", poolKinds, wholeNumber(1, 1<<30, func(l *Load) *int { return &l.Pool.MaxWaiters })},
	{"fail_fast", poolKinds, boolean(func(l *Load) *bool { return &l.Pool.FailFast })},
}

// setPool decodes a pool, which replaces the one before.
func setPool(d *decoder, n *yaml.Node, key string, l *Load) {
	var names []string
	for _, f := range poolFields {
		names = append(names, f.name)
	}
	l.Pool = Pool{}
	var keys []*yaml.Node
	const want = "a mapping such as {kind: fixed, size: 50}"
	mistakes := len(d.errors)
	d.mapping(n, key, want, func(k, value *yaml.Node) {
		i := slices.Index(names, k.Value)
		if i < 0 {
			d.unknown(k, join(key, k.Value), names)
			return
		}
		poolFields[i].set(d, value, join(key, k.Value), l)
		keys = append(keys, k)
	})
	if len(d.errors) > mistakes {
		return
	}
	if l.Pool.Kind == "" {
		d.fail(n, join(key, "kind"), "is missing: want one of %s", strings.Join(poolKinds, ", "))
		return
	}
	for _, k := range keys {
		if f := poolFields[slices.Index(names, k.Value)]; !slices.Contains(f.kinds, l.Pool.Kind) {
			d.fail(k, join(key, k.Value), "a pool of kind %s does not have it; it belongs to %s",
				l.Pool.Kind, strings.Join(f.kinds, ", "))
		}
	}
	if len(d.errors) > mistakes {
		return
	}
	if err := (cluster.Config{Pool: l.Pool.Config()}).Validate(); err != nil {
		d.fail(n, key, "%v", err)
	}
}

// Config returns the library's settings.
func (p Pool) Config() pool.Config {
	options := pool.Options{MaxWaiters: p.MaxWaiters}
	if p.FailFast {
		options.MaxWaiters = -1
	}
	switch p.Kind {
	case fixed:
		return pool.Fixed{Size: p.Size, Options: options}
	case adaptive:
		return pool.Adaptive{Min: p.Min, Max: p.Max, IdleTimeout: p.IdleTimeout, Options: options}
	default:
		slow := p.SlowLanes
		if p.NoSlowLanes {
			slow = -1
		}
		return pool.Laned{
			Lanes: p.Lanes, SlowLanes: slow,
			Strategy: strategies[p.Strategy], MaxInFlight: p.MaxInFlight, Options: options,
		}
	}
}

// Connections returns the number of connections to each node that the pool is
// named by: the most, of a pool that has a range.
func (p Pool) Connections() int {
	switch p.Kind {
	case fixed:
		return cmp.Or(p.Size, defaultSize)
	case adaptive:
		return cmp.Or(p.Max, max(defaultSize, p.Min))
	default:
		return cmp.Or(p.Lanes, defaultLanes)
	}
}

// String names the pool by what was set, such as laned-8-round_robin.
func (p Pool) String() string {
	name := p.Kind
	switch p.Kind {
	case fixed:
		name += fmt.Sprintf("-%d", cmp.Or(p.Size, defaultSize))
	case adaptive:
		name += fmt.Sprintf("-%d-%d", cmp.Or(p.Min, 1), cmp.Or(p.Max, max(defaultSize, p.Min)))
	case laned:
		name += p.laneNames()
	}
	if p.IdleTimeout != 0 {
		name += "-idle" + p.IdleTimeout.String()
	}
	if p.MaxWaiters != 0 {
		name += fmt.Sprintf("-waiters%d", p.MaxWaiters)
	}
	if p.FailFast {
		name += "-failfast"
	}
	return name
}

func (p Pool) laneNames() string {
	name := fmt.Sprintf("-%d", cmp.Or(p.Lanes, defaultLanes))
	if p.Strategy != "" {
		name += "-" + p.Strategy
	}
	if p.SlowLanes != 0 {
		name += fmt.Sprintf("-slow%d", p.SlowLanes)
	}
	if p.NoSlowLanes {
		name += "-noslow"
	}
	if p.MaxInFlight != 0 {
		name += fmt.Sprintf("-max%d", p.MaxInFlight)
	}
	return name
}

// defaultLanes is pool.Laned's own default, for the name.
const defaultLanes = 4
