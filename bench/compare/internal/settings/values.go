package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v3"
)

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
