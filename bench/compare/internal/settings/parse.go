// Package settings reads the files that command compare runs: YAML, with every
// mistake reported by file, line, column and key, and a matrix of settings
// expanded into runs and endpoints. It starts nothing and opens no connection.
//
// README.md of the command lists every key of the file.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Read reads the file of that name.
func Read(name string) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data)
}

// A document is a file before what it varies is multiplied.
type document struct {
	Question  string
	Load      Load `yaml:",inline"`
	Endpoints []yaml.Node
	Vary      yaml.Node
}

// Parse is Read for what a file holds; the name is for errors.
func Parse(name string, data []byte) (*File, error) {
	d := document{Load: defaults()}
	err := decode(data, &d)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = errors.New("is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &File{Name: name, Question: strings.TrimSpace(d.Question), Text: data}
	if f.Runs, err = d.runs(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)

// decode refuses keys that do not exist. What the text does not mention stays as it is.
func decode(text []byte, to any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(to); err != nil && !errors.Is(err, io.EOF) {
		text := strings.Replace(err.Error(), "yaml: unmarshal errors:\n  ", "", 1)
		return errors.New(unknownKey.ReplaceAllString(text, "unknown key $1"))
	}
	return nil
}

// decodeNode is decode for a part of a file, with the file's lines in errors.
func decodeNode(n *yaml.Node, to any) error {
	text, err := yaml.Marshal(n)
	if err != nil {
		return err
	}
	return decode(append(bytes.Repeat([]byte("\n"), max(0, n.Line-1)), text...), to)
}

// A variation is a key with several values.
type variation struct {
	key    string
	values []*yaml.Node
}

// ofClient are keys of the client. Their values make endpoints, beside each other in a run; values of other keys make runs.
var ofClient = []string{"pool", "group", "fan_out"}

func (d *document) runs() (runs []Run, err error) {
	var ofRuns, ofClients []variation
	for i := 0; i+1 < len(d.Vary.Content); i += 2 {
		v := variation{d.Vary.Content[i].Value, d.Vary.Content[i+1].Content}
		switch {
		case len(v.values) == 0:
			return nil, fmt.Errorf("line %d: vary.%s: want a list of values", d.Vary.Line, v.key)
		case slices.ContainsFunc(d.Endpoints, func(e yaml.Node) bool { return sets(&e, v.key) }):
			return nil, fmt.Errorf("%s is varied, and set by an endpoint: remove one of the two", v.key)
		case slices.Contains(ofClient, v.key):
			ofClients = append(ofClients, v)
		default:
			ofRuns = append(ofRuns, v)
		}
	}
	if len(d.Endpoints) == 0 {
		d.Endpoints = []yaml.Node{{Kind: yaml.MappingNode}}
	}
	for _, varied := range product(ofRuns) {
		r, err := d.run(varied, product(ofClients))
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// sets reports whether a mapping has a key.
func sets(n *yaml.Node, key string) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// An assignment is a key with one of its values.
type assignment struct {
	key   string
	value *yaml.Node
}

// to sets the key of a load.
func (a assignment) to(l *Load) error {
	key := &yaml.Node{Kind: yaml.ScalarNode, Value: a.key}
	return decodeNode(&yaml.Node{Kind: yaml.MappingNode, Line: a.value.Line, Content: []*yaml.Node{key, a.value}}, l)
}

// product returns every combination of the values; the last key changes fastest.
func product(varied []variation) [][]assignment {
	all := [][]assignment{nil}
	for _, v := range varied {
		var longer [][]assignment
		for _, before := range all {
			for _, value := range v.values {
				longer = append(longer, append(slices.Clip(before), assignment{v.key, value}))
			}
		}
		all = longer
	}
	return all
}

// run makes the endpoints of one combination.
func (d *document) run(varied []assignment, clients [][]assignment) (r Run, err error) {
	load := d.Load
	for _, a := range varied {
		if err := a.to(&load); err != nil {
			return r, err
		}
		r.Varied = append(r.Varied, Value{a.key, shown(a.value)})
	}
	r.Name, r.Rounds = load.Scenario, load.Rounds
	if len(varied) > 0 {
		r.Name = Join(r.Varied)
	}
	for i := range d.Endpoints {
		for _, client := range clients {
			e, err := endpointOf(&d.Endpoints[i], load, client)
			if err != nil {
				return r, err
			}
			switch same := func(o Endpoint) bool { return o.Name == e.Name }; {
			case slices.ContainsFunc(r.Endpoints, same):
				return r, fmt.Errorf("%q is the name of two endpoints: give each its own", e.Name)
			case e.Load.Rounds != r.Rounds:
				return r, fmt.Errorf("endpoint %q: rounds belong to all endpoints: set them at the top", e.Name)
			}
			r.Endpoints = append(r.Endpoints, e)
		}
	}
	return r, nil
}

func endpointOf(n *yaml.Node, load Load, varied []assignment) (Endpoint, error) {
	e := struct {
		Name string
		Load Load `yaml:",inline"`
	}{Load: load}
	if err := decodeNode(n, &e); err != nil {
		return Endpoint{}, err
	}
	var names []string
	if e.Name != "" {
		names = append(names, e.Name)
	}
	for _, a := range varied {
		if err := a.to(&e.Load); err != nil {
			return Endpoint{}, err
		}
		switch a.key {
		case "pool":
			names = append(names, e.Load.Pool.String())
		case "group":
			names = append(names, "by "+e.Load.Group)
		default:
			names = append(names, a.value.Value)
		}
	}
	if len(names) == 0 {
		names = append(names, e.Load.Pool.String())
	}
	return Endpoint{strings.Join(names, " "), e.Load}, e.Load.validate()
}

// shown is a value in the name of a run. A duration has the unit that suits it.
func shown(n *yaml.Node) string {
	if d, err := time.ParseDuration(n.Value); err == nil && d != 0 {
		return d.String()
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	text, _ := yaml.Marshal(n) // of what was read
	return strings.TrimSpace(string(text))
}

// Join returns the values as a text.
func Join(values []Value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.Key+"="+v.Value)
	}
	return strings.Join(parts, " ")
}
