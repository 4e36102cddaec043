package settings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A set function decodes a value into a load, and reports what is wrong with it
// under the key.
type set func(d *decoder, n *yaml.Node, key string, l *Load)

// follow returns the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// shown returns a value for a message; what is not a scalar by its kind.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return strconv.Quote(n.Value)
	}
}

// wholeNumber decodes a number within the bounds.
func wholeNumber(least, most int, to func(*Load) *int) set {
	return func(d *decoder, n *yaml.Node, key string, l *Load) {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < least || v > most {
			d.fail(n, key, "%s: want a whole number from %d to %d", shown(n), least, most)
			return
		}
		*to(l) = v
	}
}

func seedNumber(d *decoder, n *yaml.Node, key string, l *Load) {
	v, err := strconv.ParseUint(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil {
		d.fail(n, key, "%s: want a whole number, 0 or more", shown(n))
		return
	}
	l.Seed = v
}

// number decodes a number within the bounds, above the least if it is open.
func number(least, most float64, open bool, to func(*Load) *float64) set {
	return func(d *decoder, n *yaml.Node, key string, l *Load) {
		v, err := strconv.ParseFloat(n.Value, 64)
		bad := n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || err != nil || math.IsNaN(v)
		if bad || v < least || v > most || open && v == least {
			from := "from"
			if open {
				from = "above"
			}
			d.fail(n, key, "%s: want a number %s %v to %v", shown(n), from, least, most)
			return
		}
		*to(l) = v
	}
}

// span decodes a duration with a unit, which only 0 can do without.
func span(least time.Duration, to func(*Load) *time.Duration) set {
	return func(d *decoder, n *yaml.Node, key string, l *Load) {
		v, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || v < least || v > time.Hour {
			d.fail(n, key, "%s: want a duration with a unit, such as 500ms or 2s, from %v to 1h", shown(n), least)
			return
		}
		*to(l) = v
	}
}

// byteUnits are decimal and binary, the longer names before those they end in.
var byteUnits = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// ParseBytes reads a size such as 500KB or 1.5MiB, up to 2 GiB; only 0 can do without a unit.
func ParseBytes(text string) (int, bool) {
	for _, u := range byteUnits {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
			return int(v * u.bytes), err == nil && v >= 0 && v*u.bytes <= math.MaxInt32
		}
	}
	return 0, text == "0"
}

// ParseBandwidth reads bytes a second, such as 50MB/s or 50MB.
func ParseBandwidth(text string) (int, bool) { return ParseBytes(strings.TrimSuffix(text, "/s")) }

// size decodes a number of bytes.
func size(least, most int, to func(*Load) *int) set {
	return func(d *decoder, n *yaml.Node, key string, l *Load) {
		v, ok := ParseBytes(n.Value)
		if n.Kind != yaml.ScalarNode || !ok || v < least || v > most {
			d.fail(n, key, "%s: want a size with a unit, such as 100B or 500KB, from %d to %d bytes", shown(n), least, most)
			return
		}
		*to(l) = v
	}
}

// bandwidth decodes bytes a second; 0 is no bound.
func bandwidth(d *decoder, n *yaml.Node, key string, l *Load) {
	v, ok := ParseBandwidth(n.Value)
	if n.Kind != yaml.ScalarNode || !ok || v != 0 && v < 1000 {
		d.fail(n, key, "%s: want 0 or bytes a second, such as 50MB/s, at least 1KB/s", shown(n))
		return
	}
	l.Bandwidth = v
}

func boolean(to func(*Load) *bool) set {
	return func(d *decoder, n *yaml.Node, key string, l *Load) {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			d.fail(n, key, "%s: want true or false", shown(n))
			return
		}
		*to(l) = strings.EqualFold(n.Value, "true")
	}
}

// choice decodes one of the names.
func choice(names []string, to func(*Load) *string) set {
	return func(d *decoder, n *yaml.Node, key string, l *Load) {
		if n.Kind != yaml.ScalarNode || !slices.Contains(names, n.Value) {
			d.fail(n, key, "%s: want one of %s%s", shown(n), strings.Join(names, ", "), didYouMean(n.Value, names))
			return
		}
		*to(l) = n.Value
	}
}

// mapping calls each for every key of a mapping, and reports keys that come twice.
func (d *decoder) mapping(n *yaml.Node, path, want string, each func(key, value *yaml.Node)) {
	if n = follow(n); n.Kind != yaml.MappingNode {
		d.fail(n, path, "%s: want %s", shown(n), want)
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		if seen[key.Value] {
			d.fail(key, join(path, key.Value), "is here twice")
			continue
		}
		seen[key.Value] = true
		each(key, value)
	}
}

// join puts a key behind those above it.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
