package settings

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Read reads the file of that name. The error joins an [Error] for each mistake.
func Read(name string) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data)
}

// Parse is Read for what a file holds; the name is for errors.
func Parse(name string, data []byte) (*File, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, syntaxError(name, err)
	}
	d := &decoder{file: name}
	if len(doc.Content) == 0 {
		return nil, &Error{name, 1, 1, "", "is empty: want a mapping of settings"}
	}
	s := &source{file: &File{Name: name, Text: data}, load: defaults()}
	s.read(d, doc.Content[0])
	if err := d.err(); err != nil {
		return nil, err
	}
	s.expand(d)
	return s.file, d.err()
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError gives an error of the YAML parser, which knows the line but not
// the column, the form of the others.
func syntaxError(name string, err error) error {
	line, text := 1, err.Error()
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
		text = m[2]
	}
	return &Error{name, line, 1, "", "not YAML: " + text}
}

// A source is a file that was read and is not expanded yet.
type source struct {
	file      *File
	load      Load // of all endpoints
	endpoints []endpoint
	varied    []variation
}

// An endpoint is one that the file lists.
type endpoint struct {
	name   string
	node   *yaml.Node
	values []assignment
}

// An assignment is a key with its value.
type assignment struct {
	field      *field
	key, value *yaml.Node
	path       string
}

// A variation is a key with several values.
type variation struct {
	field  *field
	key    *yaml.Node
	values []*yaml.Node
}

func (s *source) read(d *decoder, root *yaml.Node) {
	names := fieldNames("question", "addrs", "endpoints", "vary")
	d.mapping(root, "", "a mapping of settings", func(key, value *yaml.Node) {
		switch key.Value {
		case "question":
			if value.Kind != yaml.ScalarNode {
				d.fail(value, "question", "%s: want a text", shown(value))
			}
			s.file.Question = value.Value
		case "addrs":
			s.readAddrs(d, value)
		case "endpoints":
			s.readEndpoints(d, value)
		case "vary":
			s.readVary(d, value)
		default:
			f := findField(key.Value)
			if f == nil {
				d.unknown(key, key.Value, names)
				return
			}
			f.apply(d, key, value, key.Value, &s.load)
		}
	})
}

func (s *source) readAddrs(d *decoder, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.fail(n, "addrs", "%s: want a list of host:port", shown(n))
		return
	}
	for i, item := range n.Content {
		item = follow(item)
		if _, port, err := net.SplitHostPort(item.Value); err != nil || port == "" {
			d.fail(item, fmt.Sprintf("addrs[%d]", i), "%s: want host:port", shown(item))
			continue
		}
		s.file.Addrs = append(s.file.Addrs, item.Value)
	}
}

func (s *source) readEndpoints(d *decoder, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.fail(n, "endpoints", "%s: want a list such as [{name: small, pool: {kind: fixed, size: 10}}]", shown(n))
		return
	}
	for i, item := range n.Content {
		item = follow(item)
		path := fmt.Sprintf("endpoints[%d]", i)
		e := endpoint{node: item}
		d.mapping(item, path, "a mapping such as {name: small, pool: {kind: fixed, size: 10}}", func(key, value *yaml.Node) {
			e.read(d, key, value, path)
		})
		s.endpoints = append(s.endpoints, e)
	}
}

func (e *endpoint) read(d *decoder, key, value *yaml.Node, path string) {
	path = join(path, key.Value)
	if key.Value == "name" {
		if value.Kind != yaml.ScalarNode || value.Value == "" {
			d.fail(value, path, "%s: want a text", shown(value))
		}
		e.name = value.Value
		return
	}
	f := findField(key.Value)
	switch {
	case f == nil:
		d.unknown(key, path, fieldNames("name"))
	case f.ofRun:
		d.fail(key, path, "belongs to all endpoints, which have their turns in the same rounds: set it at the top, or vary it")
	default:
		scratch := defaults()
		f.apply(d, key, value, path, &scratch)
		e.values = append(e.values, assignment{f, key, value, path})
	}
}

func (s *source) readVary(d *decoder, n *yaml.Node) {
	d.mapping(n, "vary", "a mapping of keys to lists, such as {callers: [15, 40]}", func(key, value *yaml.Node) {
		path := join("vary", key.Value)
		f := findField(key.Value)
		if f == nil {
			d.unknown(key, path, fieldNames())
			return
		}
		if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
			d.fail(value, path, "%s: want a list of values", shown(value))
			return
		}
		v := variation{field: f, key: key}
		for i, item := range value.Content {
			scratch := defaults()
			item = follow(item)
			f.apply(d, item, item, fmt.Sprintf("%s[%d]", path, i), &scratch)
			v.values = append(v.values, item)
		}
		s.varied = append(s.varied, v)
	})
}
