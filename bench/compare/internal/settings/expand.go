package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expand makes runs and endpoints of what was read. What belongs to the client
// (pool, group, fan_out) varies within a run, so that it is compared; what
// belongs to the load and the network varies between runs.
func (s *source) expand(d *decoder) {
	if len(s.endpoints) == 0 {
		s.endpoints = []endpoint{{}}
	}
	var ofRuns, ofClients []variation
	for _, v := range s.varied {
		if v.field.ofClient {
			ofClients = append(ofClients, v)
		} else {
			ofRuns = append(ofRuns, v)
		}
		s.checkOverlap(d, v)
	}
	for _, varied := range product(ofRuns) {
		load := s.load.clone()
		r := Run{}
		for _, a := range varied {
			a.field.apply(d, a.key, a.value, a.field.name, &load)
			r.Varied = append(r.Varied, Value{a.field.name, a.field.get(&load)})
		}
		r.Name, r.Rounds = runName(r.Varied, load), load.Rounds
		for _, e := range s.endpoints {
			for _, client := range product(ofClients) {
				r.Endpoints = append(r.Endpoints, e.expand(d, load, client))
			}
		}
		s.checkNames(d, r, len(product(ofClients)))
		s.file.Runs = append(s.file.Runs, r)
	}
}

// expand makes one endpoint of a run's load.
func (e *endpoint) expand(d *decoder, load Load, varied []assignment) Endpoint {
	l := load.clone()
	names := []string{}
	if e.name != "" {
		names = append(names, e.name)
	}
	for _, a := range e.values {
		a.field.apply(d, a.key, a.value, a.path, &l)
	}
	for _, a := range varied {
		a.field.apply(d, a.key, a.value, a.field.name, &l)
		names = append(names, clientName(a.field, &l))
	}
	if len(names) == 0 {
		names = append(names, l.Pool.String())
	}
	l.check(d)
	return Endpoint{strings.Join(names, " "), l}
}

// clientName says what a setting of the client makes of an endpoint.
func clientName(f *field, l *Load) string {
	switch f.name {
	case "group":
		return "by " + l.Group
	default:
		return fmt.Sprint(f.get(l))
	}
}

func runName(varied []Value, l Load) string {
	if len(varied) == 0 {
		return l.Scenario
	}
	return Join(varied)
}

// Join returns the values as a text.
func Join(values []Value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprintf("%s=%v", v.Key, v.Value))
	}
	return strings.Join(parts, " ")
}

// product returns every combination of the values; the last key changes fastest.
func product(varied []variation) [][]assignment {
	all := [][]assignment{nil}
	for _, v := range varied {
		var longer [][]assignment
		for _, before := range all {
			for _, value := range v.values {
				a := assignment{field: v.field, key: value, value: value}
				longer = append(longer, append(before[:len(before):len(before)], a))
			}
		}
		all = longer
	}
	return all
}

// checkOverlap reports a key that both vary and an endpoint set.
func (s *source) checkOverlap(d *decoder, v variation) {
	for _, e := range s.endpoints {
		for _, a := range e.values {
			if a.field == v.field {
				d.fail(a.key, a.path, "is varied in line %d as well: one of the two must go", v.key.Line)
			}
		}
	}
}

// checkNames reports endpoints of one run that cannot be told apart. There are
// so many for each that the file lists.
func (s *source) checkNames(d *decoder, r Run, forEach int) {
	first := make(map[string]bool)
	for i, e := range r.Endpoints {
		if first[e.Name] {
			node := s.endpoints[i/forEach].node
			if node == nil { // only values of vary, two of which are the same
				node = s.varied[0].key
			}
			d.fail(node, "name", "%q is the name of two endpoints: give each its own", e.Name)
		}
		first[e.Name] = true
	}
	if s.file.Addrs != nil {
		for _, e := range r.Endpoints {
			if at := e.Load.at["primaries"]; at != nil {
				d.fail(at, "primaries", "the cluster of addrs has as many as it has: remove one of the two")
			}
		}
	}
}

// check reports settings that do not go together.
func (l *Load) check(d *decoder) {
	conflict := func(key, other, format string, args ...any) {
		at := l.at[key]
		if b := l.at[other]; b != nil && later(b, at) {
			at = b
		}
		d.fail(at, key, format, args...)
	}
	if len(l.Steps) > 0 {
		for _, key := range []string{"callers", "duration"} {
			if l.at[key] != nil {
				conflict(key, "steps", "the steps say it already: remove one of the two")
			}
		}
		if l.Rate > 0 {
			conflict("rate", "steps", "steps are of a closed loop: remove one of the two")
		}
	}
	l.checkKeysPerRequest(conflict)
	if l.HashTags && !tagged[l.Scenario] {
		conflict("hash_tags", "scenario", "the scenario %s has none to switch on", l.Scenario)
	}
	if l.Keys.Distribution == uniform && l.at["keys"] != nil && l.Keys.Skew != defaults().Keys.Skew {
		conflict("keys", "", "skew belongs to distribution: zipf")
	}
}

// checkKeysPerRequest reports a number of keys that the scenario does not have.
func (l *Load) checkKeysPerRequest(conflict func(key, other, format string, args ...any)) {
	least, ok := keysPerRequest[l.Scenario]
	switch {
	case l.KeysPerRequest == 0:
	case !ok:
		conflict("keys_per_request", "scenario", "the scenario %s has its own number: choose one of %s", l.Scenario,
			strings.Join(slices.Sorted(maps.Keys(keysPerRequest)), ", "))
	case l.KeysPerRequest < least:
		conflict("keys_per_request", "scenario", "the scenario %s has at least %d", l.Scenario, least)
	}
}

func later(a, b *yaml.Node) bool {
	return b == nil || a.Line > b.Line || a.Line == b.Line && a.Column > b.Column
}
