package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v3"
)

// A File is what one file of settings says, expanded.
type File struct {
	Name     string // of the file, as it was opened
	Question string // that the comparison answers
	Runs     []Run
	Text     []byte // what the file holds
}

// A Run is endpoints that are measured in turn, round after round, and compared with each other.
type Run struct {
	Name      string
	Varied    []Value // what tells this run from the others, in the file's order
	Rounds    int
	Endpoints []Endpoint
}

// A Value is one setting, as the file has it.
type Value struct{ Key, Value string }

// An Endpoint is a client with its settings and its load.
type Endpoint struct {
	Name string
	Load Load
}

// A Load is the settings of one endpoint.
type Load struct {
	Scenario       string
	KeysPerRequest int `yaml:"keys_per_request"` // of the scenario mixed; 0: of others
	Callers        int
	Steps          []Step // instead of Callers and Duration
	Duration       Span
	WarmUp         Span `yaml:"warm_up"`
	Rounds         int
	Rate           float64 // requests a second of an open loop; 0: a closed loop
	Timeout        Span    // of each request; 0: none
	SLA            SLA
	Keys           Keys
	SlowShare      float64 `yaml:"slow_share"` // of the requests; negative: the scenario's
	SlowSize       Bytes   `yaml:"slow_size"`  // of a slow reply
	HashTags       bool    `yaml:"hash_tags"`
	RoundTrip      Span    `yaml:"round_trip"` // added by a proxy
	Bandwidth      Bytes   // a second of each connection; 0: no bound
	Primaries      int
	Group          string // "node" or "slot"
	FanOut         string `yaml:"fan_out"` // "async", "sequential" or "goroutines"
	Pool           Pool
}

const (
	uniform    = "uniform"
	zipf       = "zipf"
	byNode     = "node"
	bySlot     = "slot"
	async      = "async"
	sequential = "sequential"
	goroutines = "goroutines"
)

// defaults returns the settings that no file has changed.
func defaults() Load {
	return Load{
		Scenario: "mixed_10keys", Callers: 100,
		Duration: Span{2 * time.Second}, WarmUp: Span{300 * time.Millisecond}, Rounds: 3,
		SLA: SLA{Share: 0.99}, Keys: Keys{Number: 10_000, Distribution: uniform, Skew: 1.1},
		SlowShare: -1, SlowSize: 500_000,
		Primaries: 3, Group: byNode, FanOut: async, Pool: Pool{Kind: laned},
	}
}

// Phases returns the parts of one turn: the steps, or a single one.
func (l *Load) Phases() []Step {
	if len(l.Steps) > 0 {
		return l.Steps
	}
	return []Step{{l.Callers, l.Duration}}
}

// HasNetwork reports whether there is a network to be put before the servers.
func (l *Load) HasNetwork() bool { return l.RoundTrip.Duration > 0 || l.Bandwidth > 0 }

// ButPool is all settings but the pool's, as a text.
func (l *Load) ButPool() string {
	other := *l
	other.Pool = Pool{}
	return fmt.Sprint(other)
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

// Took returns how long one turn takes at least.
func (l *Load) Took() time.Duration {
	sum := l.WarmUp.Duration
	for _, p := range l.Phases() {
		sum += p.For.Duration
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

// A Span is a duration with a unit, which only 0 can do without.
type Span struct{ time.Duration }

// UnmarshalYAML is part of yaml.Unmarshaler.
func (s *Span) UnmarshalYAML(n *yaml.Node) (err error) {
	if s.Duration, err = time.ParseDuration(n.Value); err != nil || s.Duration < 0 {
		return fmt.Errorf("line %d: %q: want a duration with a unit, such as 500ms or 2s", n.Line, n.Value)
	}
	return nil
}

// Bytes is a size with a unit, such as 500KB, or bytes a second, such as 50MB/s.
type Bytes int

// UnmarshalYAML is part of yaml.Unmarshaler.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error {
	v, err := humanize.ParseBytes(strings.TrimSuffix(n.Value, "/s"))
	if err != nil || v > 1<<31 {
		return fmt.Errorf("line %d: %q: want a size with a unit, such as 500KB", n.Line, n.Value)
	}
	*b = Bytes(v)
	return nil
}

// Keys says how many keys there are and how they are drawn.
type Keys struct {
	Number       int
	Distribution string  // "uniform" or "zipf"
	Skew         float64 // of zipf, above 1
}

// UnmarshalYAML is part of yaml.Unmarshaler: keys may be just their number.
func (k *Keys) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&k.Number)
	}
	type plain Keys
	return decodeNode(n, (*plain)(k))
}

// A SLA is which share of the requests must be answered in time. Those that fail count as late.
type SLA struct {
	Within Span // 0: none
	Share  float64
}

// A Step is a part of a load that changes while it is measured.
type Step struct {
	Callers int
	For     Span
}
