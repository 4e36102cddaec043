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

const (
	mostText   = 16 << 20 // bytes of a file
	mostValues = 500_000  // in a file, counting those that aliases repeat
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
		if err := c.add(d); err != nil {
			return nil, err
		}
	}
	return c.set, nil
}

// The file as it is written.
type (
	yamlDomain struct {
		file, name  string
		line        int
		descriptors []yamlDescriptor
	}
	yamlDescriptor struct {
		line        int
		key, value  string
		limit       *yamlLimit
		shadow      bool
		quota       bool
		shared      bool
		descriptors []yamlDescriptor
	}
	yamlLimit struct {
		line            int
		name            string
		unit            string
		requestsPerUnit *uint32
		unlimited       bool
		replaces        []string

		// Ours.
		algorithm  string
		burst      *int64
		timezone   string
		startsOn   *int64
		warn       *float64
		failClosed bool
		charge     *bool
	}
)

func parse(s Source) (yamlDomain, error) {
	p := &parser{file: s.Name}
	d := yamlDomain{file: s.Name, line: 1}
	if len(s.Text) > mostText {
		return d, &Error{s.Name, 0, fmt.Sprintf("%d bytes: must be at most %d", len(s.Text), mostText)}
	}
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(s.Text))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return d, &Error{s.Name, 0, "it is empty: want a domain and descriptors"}
	case err != nil:
		return d, syntaxError(s.Name, err)
	}
	if err := p.end(decoder); err != nil {
		return d, err
	}
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		err := p.domain(root.Content[0], &d)
		return d, err
	}
	return d, &Error{s.Name, 0, "it is empty: want a domain and descriptors"}
}

// end reads what follows the document: at most markers with nothing behind them.
func (p *parser) end(decoder *yaml.Decoder) error {
	for {
		var next yaml.Node
		switch err := decoder.Decode(&next); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return syntaxError(p.file, err)
		case len(next.Content) != 1 || !isNull(next.Content[0]):
			return p.errorf(&next, "a second document: want one domain in each file")
		}
	}
}

var atLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError takes the line out of the text of an error of the library.
func syntaxError(file string, err error) error {
	m := atLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if m == nil {
		return &Error{file, 0, err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	return &Error{file, line, m[2]}
}

// A parser reads one file.
type parser struct {
	file   string
	values int
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return &Error{p.file, n.Line, fmt.Sprintf(format, args...)}
}

// visit returns what an alias stands for. It is called for each value, and counts
// them, since a few aliases can repeat one another beyond all measure.
func (p *parser) visit(n *yaml.Node) (*yaml.Node, error) {
	if p.values++; p.values > mostValues {
		return nil, p.errorf(n, "more than %d values, counting those that aliases repeat", mostValues)
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias, nil
	}
	return n, nil
}

// A field of a mapping, and what reads it.
type field struct {
	name string
	read func(*yaml.Node) error
}

// mapping reads the fields, each of which may be there once.
func (p *parser) mapping(n *yaml.Node, what string, fields ...field) error {
	n, err := p.visit(n)
	if err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s: want a mapping", what)
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f := find(fields, key)
		if f == nil {
			return p.errorf(key, "%s has an unknown field %q: want %s", what, key.Value, namesOf(fields))
		}
		if before := seen[f.name]; before != 0 {
			return p.errorf(key, "%s has the field %s twice, also in line %d", what, f.name, before)
		}
		seen[f.name] = key.Line
		if err := f.read(value); err != nil {
			return err
		}
	}
	return nil
}

func find(fields []field, key *yaml.Node) *field {
	for i := range fields {
		if key.Kind == yaml.ScalarNode && fields[i].name == key.Value {
			return &fields[i]
		}
	}
	return nil
}

func namesOf(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// list reads the elements of a sequence; null is an empty one.
func (p *parser) list(n *yaml.Node, what string, read func(*yaml.Node) error) error {
	n, err := p.visit(n)
	switch {
	case err != nil:
		return err
	case isNull(n):
		return nil
	case n.Kind != yaml.SequenceNode:
		return p.errorf(n, "%s: want a list", what)
	}
	for _, element := range n.Content {
		if err := read(element); err != nil {
			return err
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// text returns a field that reads a word, also one that looks like a number; null
// is an empty one.
func (p *parser) text(name string, to *string) field {
	return field{name, func(n *yaml.Node) error {
		n, err := p.visit(n)
		switch {
		case err != nil:
			return err
		case n.Kind != yaml.ScalarNode:
			return p.errorf(n, "%s: want a word", name)
		case !isNull(n):
			*to = n.Value
		}
		return nil
	}}
}

// flag reads a *bool, or a **bool that stays nil if the field is missing.
func (p *parser) flag(name string, to any) field {
	return field{name, func(n *yaml.Node) error {
		n, err := p.visit(n)
		if err != nil {
			return err
		}
		if n.Kind != yaml.ScalarNode || n.Decode(to) != nil {
			return p.errorf(n, "%s = %q: want true or false", name, n.Value)
		}
		return nil
	}}
}

func number[N uint32 | int64](p *parser, name string, to **N, want string) field {
	return field{name, func(n *yaml.Node) error {
		n, err := p.visit(n)
		if err != nil {
			return err
		}
		v := new(N)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(v) != nil {
			return p.errorf(n, "%s = %q: want %s", name, n.Value, want)
		}
		*to = v
		return nil
	}}
}

func (p *parser) fraction(name string, to **float64) field {
	return field{name, func(n *yaml.Node) error {
		n, err := p.visit(n)
		if err != nil {
			return err
		}
		v := new(float64)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!float" && n.ShortTag() != "!!int" || n.Decode(v) != nil {
			return p.errorf(n, "%s = %q: want a number, 0 to 1", name, n.Value)
		}
		*to = v
		return nil
	}}
}

func (p *parser) domain(n *yaml.Node, d *yamlDomain) error {
	d.line = n.Line
	return p.mapping(n, "the file",
		p.text("domain", &d.name),
		p.descriptors(&d.descriptors, 1),
	)
}

func (p *parser) descriptors(to *[]yamlDescriptor, level int) field {
	return field{"descriptors", func(n *yaml.Node) error {
		if level > mostLevels {
			return p.errorf(n, "descriptors in one another: must be at most %d", mostLevels)
		}
		return p.list(n, "descriptors", func(n *yaml.Node) error {
			d := yamlDescriptor{line: n.Line}
			var detailed, withValue bool // change nothing: no metric has a label from requests
			err := p.mapping(n, "a descriptor",
				p.text("key", &d.key),
				p.text("value", &d.value),
				p.rateLimit(&d.limit),
				p.flag("shadow_mode", &d.shadow),
				p.flag("quota_mode", &d.quota),
				p.flag("share_threshold", &d.shared),
				p.flag("detailed_metric", &detailed),
				p.flag("value_to_metric", &withValue),
				p.descriptors(&d.descriptors, level+1),
			)
			*to = append(*to, d)
			return err
		})
	}}
}

func (p *parser) rateLimit(to **yamlLimit) field {
	return field{"rate_limit", func(n *yaml.Node) error {
		if isNull(n) {
			return nil
		}
		l := &yamlLimit{line: n.Line}
		*to = l
		return p.mapping(n, "rate_limit",
			p.text("name", &l.name),
			p.text("unit", &l.unit),
			number(p, "requests_per_unit", &l.requestsPerUnit, "a whole number, 0 to 4294967295"),
			p.flag("unlimited", &l.unlimited),
			p.replaces(&l.replaces),
			p.text("algorithm", &l.algorithm),
			number(p, "burst", &l.burst, "a whole number, 1 to 1000000000"),
			p.text("timezone", &l.timezone),
			number(p, "starts_on", &l.startsOn, "a whole number, 1 to 31"),
			p.fraction("warn", &l.warn),
			p.flag("fail_closed", &l.failClosed),
			p.flag("charge", &l.charge),
		)
	}}
}

func (p *parser) replaces(to *[]string) field {
	return field{"replaces", func(n *yaml.Node) error {
		return p.list(n, "replaces", func(n *yaml.Node) error {
			var name string
			err := p.mapping(n, "replaces", p.text("name", &name))
			if err == nil && name == "" {
				err = p.errorf(n, "replaces: want the name of a rate_limit")
			}
			*to = append(*to, name)
			return err
		})
	}}
}
