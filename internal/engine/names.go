package engine

import (
	"bytes"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// Names of commands for traces. They are looked up when a trace asks for
// them, since most do not.

// CommandName returns the name of the request's commands, "" if they have several.
func (r *Request) CommandName() string {
	var n naming
	commands := r.bounds
	if len(r.parts) > 0 {
		commands = r.parts
	}
	for _, b := range commands {
		n.add(r.arena[b.from:b.to])
	}
	return n.name()
}

// CommandName returns the name of the group's commands, "" if they have several.
func (t *trip) CommandName() string {
	if t.of == nil {
		return "" // asked too late
	}
	var n naming
	for encoded := range t.Each(t.of.arena) {
		n.add(encoded)
	}
	return n.name()
}

// A naming finds the name that all commands have, beside ASKING. It does not allocate, as it
// would behind an iterator that is passed on.
type naming struct {
	first, called []byte // the first command, and its name
	several       bool
}

// add notes a command.
func (n *naming) add(encoded []byte) {
	name, _ := resp.Argument(encoded, 0)
	switch {
	case string(name) == "ASKING":
	case n.first == nil:
		n.first, n.called = encoded, name
	case !bytes.EqualFold(name, n.called):
		n.several = true
	}
}

// name returns the name; "" if there are several.
func (n *naming) name() string {
	if n.several {
		return ""
	}
	return nameOf(n.first)
}

// nameOf returns the command's name. One that is not in the table and does not look
// like a name may be an argument at the wrong place, which traces must not show.
func nameOf(encoded []byte) string {
	if len(encoded) == 0 {
		return ""
	}
	cmd := command.Of(encoded)
	name := cmd.Name()
	if !cmd.Known() && (len(name) > maxShownName || bytes.ContainsFunc([]byte(name), notOfNames)) {
		return ""
	}
	return name
}

func notOfNames(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}
