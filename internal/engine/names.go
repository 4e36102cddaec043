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
	var n commonName
	for i := range r.bounds {
		if !n.add(r.command(i)) {
			break
		}
	}
	return n.name()
}

// CommandName returns the name of the group's commands, "" if they have several.
func (t *trip) CommandName() string {
	if t.of == nil {
		return "" // asked too late
	}
	var n commonName
	t.EachIn(t.of.arena, func(encoded []byte) {
		if name, _ := resp.Argument(encoded, 0); string(name) != "ASKING" {
			n.add(encoded)
		}
	})
	return n.name()
}

// CommandName returns the name of the one command on a dedicated connection, "" for
// an action that may send several.
func (l *lending) CommandName() string { return nameOf(l.encoded) }

// A commonName is the name of all commands that were added.
type commonName struct {
	first   []byte // a command
	called  []byte // its name as it was written
	several bool
}

// add reports whether the commands have one name up to now.
func (n *commonName) add(encoded []byte) bool {
	name, _ := resp.Argument(encoded, 0)
	switch {
	case n.several:
	case n.first == nil:
		n.first, n.called = encoded, name
	default:
		n.several = !bytes.EqualFold(name, n.called)
	}
	return !n.several
}

func (n *commonName) name() string {
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
