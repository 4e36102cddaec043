package settings

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	uniform = "uniform"
	zipf    = "zipf"
	byNode  = "node"
	bySlot  = "slot"

	async      = "async"
	sequential = "sequential"
)

// Scenarios are the names of all scenarios, as package load knows them.
var Scenarios = []string{
	"fixed_key", "variable_key", "mixed", "mixed_2keys", "mixed_10keys", "read_write", "shop", "dashboard", "head_of_line",
}

// keysPerRequest is the least, and the default, number of keys of a request in the
// scenarios that leave it to the file.
var keysPerRequest = map[string]int{"variable_key": 1, "mixed": 2, "read_write": 1}

// tagged scenarios have hash tags to switch on: their requests are of several
// keys, or of one, that may be one user's.
var tagged = map[string]bool{"fixed_key": true, "variable_key": true, "mixed": true, "mixed_2keys": true, "mixed_10keys": true}

// A field is one key of a load.
type field struct {
	name     string
	set      set
	get      func(l *Load) any // as it is shown
	ofClient bool              // varying it makes endpoints, not runs
	ofRun    bool              // all endpoints of a run share it
}

// fields are the keys of a load, in the order of the reference.
var fields = []field{
	{name: "scenario", set: choice(Scenarios, func(l *Load) *string { return &l.Scenario }),
		get: func(l *Load) any { return l.Scenario }},
	{name: "keys_per_request", set: wholeNumber(1, 1000, func(l *Load) *int { return &l.KeysPerRequest }),
		get: func(l *Load) any { return l.RequestKeys() }},
	{name: "callers", set: wholeNumber(1, most, func(l *Load) *int { return &l.Callers }),
		get: func(l *Load) any { return l.Callers }},
	{name: "steps", set: setSteps, get: func(l *Load) any { return showSteps(l.Steps) }},
	{name: "duration", set: span(time.Millisecond, func(l *Load) *time.Duration { return &l.Duration }),
		get: func(l *Load) any { return showSpan(l.Duration) }},
	{name: "warm_up", set: span(0, func(l *Load) *time.Duration { return &l.WarmUp }),
		get: func(l *Load) any { return showSpan(l.WarmUp) }},
	{name: "cool_down", set: span(0, func(l *Load) *time.Duration { return &l.CoolDown }),
		get: func(l *Load) any { return showSpan(l.CoolDown) }},
	{name: "rounds", ofRun: true, set: wholeNumber(1, 1000, func(l *Load) *int { return &l.Rounds }),
		get: func(l *Load) any { return l.Rounds }},
	{name: "seed", set: seedNumber, get: func(l *Load) any { return l.Seed }},
	{name: "rate", set: number(0, 1e7, false, func(l *Load) *float64 { return &l.Rate }),
		get: func(l *Load) any { return l.Rate }},
	{name: "timeout", set: span(0, func(l *Load) *time.Duration { return &l.Timeout }),
		get: func(l *Load) any { return showSpan(l.Timeout) }},
	{name: "sla", set: setSLA, get: func(l *Load) any { return showSLA(l.SLA) }},
	{name: "keys", set: setKeys, get: func(l *Load) any { return showKeys(l.Keys) }},
	{name: "value_size", set: size(1, 1e6, func(l *Load) *int { return &l.ValueSize }),
		get: func(l *Load) any { return l.ValueSize }},
	{name: "slow_share", set: number(0, 1, false, func(l *Load) *float64 { return &l.SlowShare }),
		get: func(l *Load) any { return l.SlowShare }},
	{name: "slow_size", set: size(1000, 100e6, func(l *Load) *int { return &l.SlowSize }),
		get: func(l *Load) any { return l.SlowSize }},
	{name: "hash_tags", set: boolean(func(l *Load) *bool { return &l.HashTags }),
		get: func(l *Load) any { return l.HashTags }},
	{name: "round_trip", set: span(0, func(l *Load) *time.Duration { return &l.RoundTrip }),
		get: func(l *Load) any { return showSpan(l.RoundTrip) }},
	{name: "jitter", set: span(0, func(l *Load) *time.Duration { return &l.Jitter }),
		get: func(l *Load) any { return showSpan(l.Jitter) }},
	{name: "hiccups", set: setHiccups, get: func(l *Load) any { return showHiccups(l.Hiccups) }},
	{name: "bandwidth", set: bandwidth, get: func(l *Load) any { return showBandwidth(l.Bandwidth) }},
	{name: "primaries", set: wholeNumber(1, 8, func(l *Load) *int { return &l.Primaries }),
		get: func(l *Load) any { return l.Primaries }},
	{name: "group", ofClient: true, set: choice([]string{byNode, bySlot}, func(l *Load) *string { return &l.Group }),
		get: func(l *Load) any { return l.Group }},
	{name: "fan_out", ofClient: true, set: choice([]string{async, sequential}, func(l *Load) *string { return &l.FanOut }),
		get: func(l *Load) any { return l.FanOut }},
	{name: "pool", ofClient: true, set: setPool, get: func(l *Load) any { return l.Pool.String() }},
}

// apply decodes the value of the key into the load.
func (f *field) apply(d *decoder, key, value *yaml.Node, path string, l *Load) {
	f.set(d, value, path, l)
	l.at[f.name] = key
}

func findField(name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func fieldNames(more ...string) []string {
	names := more
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func setSteps(d *decoder, n *yaml.Node, key string, l *Load) {
	const want = "a list such as [{callers: 10, for: 5s}, {callers: 500, for: 5s}]"
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.fail(n, key, "%s: want %s", shown(n), want)
		return
	}
	l.Steps = nil
	for i, item := range n.Content {
		path, s := fmt.Sprintf("%s[%d]", key, i), Load{}
		mistakes := len(d.errors)
		d.mapping(item, path, "a mapping such as {callers: 10, for: 5s}", func(k, value *yaml.Node) {
			switch k.Value {
			case "callers":
				wholeNumber(1, most, func(l *Load) *int { return &l.Callers })(d, value, join(path, k.Value), &s)
			case "for":
				span(time.Millisecond, func(l *Load) *time.Duration { return &l.Duration })(d, value, join(path, k.Value), &s)
			default:
				d.unknown(k, join(path, k.Value), []string{"callers", "for"})
			}
		})
		if (s.Callers == 0 || s.Duration == 0) && len(d.errors) == mistakes {
			d.fail(item, path, "want both callers and for, such as {callers: 10, for: 5s}")
		}
		l.Steps = append(l.Steps, Step{s.Callers, s.Duration})
	}
}

func showSteps(steps []Step) string {
	text := ""
	for i, s := range steps {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d for %v", s.Callers, s.For)
	}
	return text
}

func setHiccups(d *decoder, n *yaml.Node, key string, l *Load) {
	const want = "0, or a mapping such as {every: 1s, for: 50ms}"
	if n.Kind == yaml.ScalarNode && n.Value == "0" {
		l.Hiccups = Hiccups{}
		return
	}
	sets := map[string]set{
		"every": span(time.Millisecond, func(l *Load) *time.Duration { return &l.Hiccups.Every }),
		"for":   span(time.Millisecond, func(l *Load) *time.Duration { return &l.Hiccups.For }),
	}
	l.Hiccups = Hiccups{}
	mistakes := len(d.errors)
	d.mapping(n, key, want, func(k, value *yaml.Node) {
		if s := sets[k.Value]; s != nil {
			s(d, value, join(key, k.Value), l)
		} else {
			d.unknown(k, join(key, k.Value), []string{"every", "for"})
		}
	})
	if (l.Hiccups.Every == 0 || l.Hiccups.For == 0) && len(d.errors) == mistakes {
		d.fail(n, key, "want both every and for, such as {every: 1s, for: 50ms}")
	}
}

func showHiccups(h Hiccups) string {
	if h.For == 0 {
		return "0"
	}
	return fmt.Sprintf("%v every %v", h.For, h.Every)
}

func setSLA(d *decoder, n *yaml.Node, key string, l *Load) {
	sets := map[string]set{
		"within": span(0, func(l *Load) *time.Duration { return &l.SLA.Within }),
		"share":  number(0, 1, true, func(l *Load) *float64 { return &l.SLA.Share }),
	}
	if n.Kind == yaml.ScalarNode {
		sets["within"](d, n, key, l)
		return
	}
	mistakes := len(d.errors)
	d.mapping(n, key, "a duration, or a mapping such as {within: 10ms, share: 0.999}", func(k, value *yaml.Node) {
		if s := sets[k.Value]; s != nil {
			s(d, value, join(key, k.Value), l)
		} else {
			d.unknown(k, join(key, k.Value), []string{"within", "share"})
		}
	})
	if l.SLA.Within == 0 && len(d.errors) == mistakes {
		d.fail(n, join(key, "within"), "is missing: want a duration such as 10ms")
	}
}

func showSLA(s SLA) string {
	if s.Within == 0 {
		return "0"
	}
	return fmt.Sprintf("%g%% within %v", s.Share*100, s.Within)
}

func setKeys(d *decoder, n *yaml.Node, key string, l *Load) {
	sets := map[string]set{
		"number":       wholeNumber(1, 10_000_000, func(l *Load) *int { return &l.Keys.Number }),
		"distribution": choice([]string{uniform, zipf}, func(l *Load) *string { return &l.Keys.Distribution }),
		"skew":         number(1, 10, true, func(l *Load) *float64 { return &l.Keys.Skew }),
	}
	if n.Kind == yaml.ScalarNode {
		sets["number"](d, n, key, l)
		return
	}
	d.mapping(n, key, "a number, or a mapping such as {number: 50, distribution: zipf, skew: 1.1}", func(k, value *yaml.Node) {
		if s := sets[k.Value]; s != nil {
			s(d, value, join(key, k.Value), l)
		} else {
			d.unknown(k, join(key, k.Value), []string{"number", "distribution", "skew"})
		}
	})
}

// showKeys is a number where that is all, so that it can be the axis of a plot.
func showKeys(k Keys) any {
	if k.Distribution == uniform {
		return k.Number
	}
	return fmt.Sprintf("%d zipf %v", k.Number, k.Skew)
}

func showSpan(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return d.String()
}

// showBandwidth writes what a file would say.
func showBandwidth(bytes int) string {
	switch {
	case bytes == 0:
		return "0"
	case bytes >= 1e6:
		return strconv.FormatFloat(float64(bytes)/1e6, 'f', -1, 64) + "MB/s"
	default:
		return strconv.FormatFloat(float64(bytes)/1e3, 'f', -1, 64) + "KB/s"
	}
}
