package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redislanes/redislanes/limit"
)

// A Source is the text of a file.
type Source struct {
	Name string // for errors
	Text []byte
}

// An Error is a mistake in a file.
type Error struct {
	File   string
	Line   int // 0 if it is about the whole file
	Reason string
}

// Error returns file, line and reason.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Reason
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Reason
}

const (
	mostText   = 16 << 20 // bytes of a file
	mostLevels = 32       // of descriptors in one another
)

// Parse returns the rules of the files, each of which has rules of one domain, or the
// first mistake, which is an *[Error]. limitOf makes the limits, such as limit.Rule.New.
func Parse(limitOf func(limit.Rule) (*limit.Limit, error), sources ...Source) (*Set, error) {
	c := &compiler{limitOf: limitOf, set: &Set{domains: make(map[string]*node)}, names: make(map[string]place)}
	for _, source := range sources {
		d, err := parse(source)
		if err != nil {
			return nil, err
		}
		if err := c.add(source.Name, d); err != nil {
			return nil, err
		}
	}
	return c.set, nil
}

// The file as it is written.
type (
	file struct {
		line        int
		Domain      string
		Descriptors []descriptor
	}
	descriptor struct {
		line        int
		Key, Value  string
		Limit       *rateLimit `yaml:"rate_limit"`
		Shadow      bool       `yaml:"shadow_mode"`
		Quota       bool       `yaml:"quota_mode"`
		Shared      bool       `yaml:"share_threshold"`
		Detailed    bool       `yaml:"detailed_metric"` // changes nothing, nor does the next one: no metric has a label from requests
		WithValue   bool       `yaml:"value_to_metric"`
		Descriptors []descriptor
	}
	rateLimit struct {
		line            int
		Name, Unit      string
		RequestsPerUnit *whole `yaml:"requests_per_unit"`
		Unlimited       bool
		Replaces        []struct{ Name string }

		// Ours.
		Algorithm  string
		Burst      *whole
		Timezone   string
		StartsOn   *whole `yaml:"starts_on"`
		Warn       *float64
		FailClosed bool `yaml:"fail_closed"`
		Charge     *bool
	}
)

// A whole number: the library would cut off a fraction.
type whole int64

// UnmarshalYAML is part of yaml.Unmarshaler.
func (w *whole) UnmarshalYAML(n *yaml.Node) error {
	if n.ShortTag() != "!!int" || n.Decode((*int64)(w)) != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %q: want a whole number", n.Line, n.Value)}}
	}
	return nil
}

func parse(s Source) (*file, error) {
	if len(s.Text) > mostText {
		return nil, &Error{s.Name, 0, fmt.Sprintf("%d bytes: must be at most %d", len(s.Text), mostText)}
	}
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(s.Text))
	err := decoder.Decode(&root)
	if errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0 {
		return nil, &Error{s.Name, 0, "it is empty: want a domain and descriptors"}
	}
	for err == nil { // what follows is at most markers with nothing behind them
		var next yaml.Node
		if err = decoder.Decode(&next); err == nil && (len(next.Content) != 1 || next.Content[0].ShortTag() != "!!null") {
			return nil, &Error{s.Name, next.Line, "a second document: want one domain in each file"}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, mistakeOf(s.Name, err)
	}
	strict := yaml.NewDecoder(bytes.NewReader(s.Text))
	strict.KnownFields(true)
	f := &file{line: root.Content[0].Line}
	if err := strict.Decode(f); err != nil {
		return nil, mistakeOf(s.Name, err)
	}
	return f, locate(s.Name, f.Descriptors, root.Content[0])
}

// locate notes the lines of the descriptors of a node. The library leaves out those that are empty.
func locate(file string, descriptors []descriptor, n *yaml.Node) error {
	for i, d := range below(n, "descriptors").Content {
		if resolved(d).Kind != yaml.MappingNode {
			return &Error{file, d.Line, "want a mapping"}
		}
		descriptors[i].line = d.Line
		if l := descriptors[i].Limit; l != nil {
			l.line = max(d.Line, below(d, "rate_limit").Line)
		}
		if err := locate(file, descriptors[i].Descriptors, d); err != nil {
			return err
		}
	}
	return nil
}

// below returns the value of a field, or an empty node.
func below(n *yaml.Node, name string) *yaml.Node {
	n = resolved(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return resolved(n.Content[i+1])
		}
	}
	return new(yaml.Node)
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Alias != nil {
		return n.Alias
	}
	return n
}

var (
	atLine  = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)
	unknown = regexp.MustCompile(`^field (.*) not found in type (?:rules\.(\w+)|struct.*)$`)
	unfit   = regexp.MustCompile("^cannot unmarshal !!\\w+ (?:`(.*)` )?into (.*)$")
)

// wants says what a value must be, by the type that it is for.
var wants = map[string]string{
	"string": "a word", "bool": "true or false", "float64": "a number", "[]rules.descriptor": "a list", "[]struct { Name string }": "a list",
}

// mistakeOf makes a mistake of the first error of the library.
func mistakeOf(file string, err error) error {
	text := err.Error()
	if all := new(yaml.TypeError); errors.As(err, &all) {
		text = all.Errors[0]
	}
	m := atLine.FindStringSubmatch(strings.ReplaceAll(text, "\n", " "))
	line, _ := strconv.Atoi(m[1])
	reason := m[2]
	if m := unknown.FindStringSubmatch(reason); m != nil {
		reason = fmt.Sprintf("unknown field %q of a %s", m[1], strings.ReplaceAll(m[2], "L", "_l"))
	} else if m := unfit.FindStringSubmatch(reason); m != nil {
		want := wants[m[2]]
		if want == "" {
			want = "a mapping"
		}
		if reason = "want " + want; m[1] != "" {
			reason = fmt.Sprintf("%q: want %s", m[1], want)
		}
	}
	return &Error{file, line, reason}
}
