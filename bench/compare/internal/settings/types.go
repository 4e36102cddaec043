package settings

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A File is what one file of settings says, expanded.
type File struct {
	Name     string   // of the file, as it was opened
	Question string   // that the comparison answers
	Addrs    []string // of an existing cluster; empty: one is started
	Runs     []Run
	Text     []byte // what the file holds
}

// A Run is endpoints that are measured in turn, round after round, and compared
// with each other.
type Run struct {
	Name      string
	Varied    []Value // what tells this run from the others, in the file's order
	Rounds    int
	Endpoints []Endpoint
}

// A Value is one setting, as it is shown.
type Value struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // a number, a bool or text
}

// An Endpoint is a client with its settings and its load.
type Endpoint struct {
	Name string
	Load Load
}

// A Load is the settings of one endpoint.
type Load struct {
	Scenario       string
	KeysPerRequest int // 0: the scenario's
	Callers        int
	Steps          []Step // instead of Callers and Duration
	Duration       time.Duration
	WarmUp         time.Duration
	CoolDown       time.Duration // after each turn, without load
	Rounds         int
	Seed           uint64
	Rate           float64       // requests a second of an open loop; 0: a closed loop
	Timeout        time.Duration // of each request; 0: none
	SLA            SLA
	Keys           Keys
	ValueSize      int     // bytes
	SlowShare      float64 // of the requests; negative: the scenario's
	SlowSize       int     // bytes of a slow reply
	HashTags       bool
	RoundTrip      time.Duration // added by a proxy
	Jitter         time.Duration // added to it, up to so much
	Hiccups        Hiccups
	Bandwidth      int // bytes a second of each connection; 0: no bound
	Primaries      int
	Group          string // "node" or "slot"
	FanOut         string // "async" or "sequential"
	Pool           Pool

	at map[string]*yaml.Node // where each key was set
}

// SLA is which share of the requests must be answered in time, those that fail
// counted as late.
type SLA struct {
	Within time.Duration // 0: none
	Share  float64
}

// Hiccups are times in which the network before a server lets nothing pass.
type Hiccups struct {
	Every time.Duration // on average, from the end of one to the next
	For   time.Duration // 0: none
}

// Keys says how many keys there are and how they are drawn.
type Keys struct {
	Number       int
	Distribution string  // "uniform" or "zipf"
	Skew         float64 // of zipf, above 1
}

// A Step is a part of a load that changes while it is measured.
type Step struct {
	Callers int
	For     time.Duration
}

// defaults returns the settings that no file has changed.
func defaults() Load {
	return Load{
		Scenario: "mixed_10keys", Callers: 100,
		Duration: 2 * time.Second, WarmUp: 300 * time.Millisecond, Rounds: 3, Seed: 1,
		SLA:       SLA{Share: 0.99},
		Keys:      Keys{Number: 10_000, Distribution: uniform, Skew: 1.1},
		ValueSize: 100, SlowShare: -1, SlowSize: 500_000,
		Primaries: 3, Group: byNode, FanOut: async, Pool: Pool{Kind: laned},
		at: make(map[string]*yaml.Node),
	}
}

// clone returns a copy that can be changed.
func (l Load) clone() Load {
	l.at = maps.Clone(l.at)
	return l
}

// Phases returns the parts of one turn: the steps, or a single one.
func (l Load) Phases() []Step {
	if len(l.Steps) > 0 {
		return l.Steps
	}
	return []Step{{l.Callers, l.Duration}}
}

// HasNetwork reports whether there is a network to be put before the servers.
func (l *Load) HasNetwork() bool {
	return l.RoundTrip > 0 || l.Jitter > 0 || l.Hiccups.For > 0 || l.Bandwidth > 0
}

// RequestKeys returns how many keys a request has, in scenarios that leave it to
// the file; 0 in others.
func (l *Load) RequestKeys() int { return max(l.KeysPerRequest, keysPerRequest[l.Scenario]) }

// ButPool is all settings but the pool's, as a text.
func (l *Load) ButPool() string {
	return Join(slices.DeleteFunc(l.Values(), func(v Value) bool { return v.Key == "pool" }))
}

// ClientButSize names what is the client's, but the size of its pool.
func (l *Load) ClientButSize() string {
	name := l.Pool
	name.Size, name.Min, name.Max, name.Lanes = 0, 0, 0, 0
	text := strings.Replace(name.String(), Pool{Kind: name.Kind}.String(), name.Kind, 1)
	if l.Group != byNode {
		text += " by " + l.Group
	}
	if l.FanOut != async {
		text += " " + l.FanOut
	}
	return text
}

// Values returns all settings in the order of the reference, as they are shown.
func (l Load) Values() []Value {
	var all []Value
	for _, f := range fields {
		all = append(all, Value{f.name, f.get(&l)})
	}
	return all
}

// Took returns how long one turn takes at least.
func (l Load) Took() time.Duration {
	sum := l.WarmUp + l.CoolDown
	for _, p := range l.Phases() {
		sum += p.For
	}
	return sum
}

// Took returns how long the file's runs take at least, without what it takes to
// start and to connect.
func (f *File) Took() time.Duration {
	var sum time.Duration
	for _, r := range f.Runs {
		for _, e := range r.Endpoints {
			sum += time.Duration(r.Rounds) * e.Load.Took()
		}
	}
	return sum
}

// VariesPrimaries reports whether the file needs clusters of different sizes,
// which an existing cluster cannot be.
func (f *File) VariesPrimaries() bool {
	sizes := make(map[int]bool)
	for _, r := range f.Runs {
		for _, e := range r.Endpoints {
			sizes[e.Load.Primaries] = true
		}
	}
	return len(sizes) > 1
}
