package engine

import (
	"bytes"
	"iter"
	"slices"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// Names of commands for traces. They are looked up when a trace asks for
// them, since most do not.

// CommandName returns the name of the request's commands, "" if they have several.
func (r *Request) CommandName() string {
	return nameOfAll(func(yield func([]byte) bool) {
		for i := 0; i < len(r.bounds) && yield(r.command(i)); i++ {
		}
	})
}

// CommandName returns the name of the group's commands, "" if they have several.
func (t *trip) CommandName() string {
	if t.of == nil {
		return "" // asked too late
	}
	return nameOfAll(t.Each(t.of.arena))
}

// CommandName returns the name of the one command on a dedicated connection, "" for
// an action that may send several.
func (d *dedicatedAction) CommandName() string { return nameOf(d.encoded) }

// CommandName returns the name of the commands, "" if they have several.
func (s *sentAlone) CommandName() string { return nameOfAll(slices.Values(s.commands)) }

// CommandName returns the name of the request's commands, "" if they have several,
// or if they are not known.
func (o nodeObservation) CommandName() string {
	if o.request == nil {
		return ""
	}
	return nameOfAll(o.request.Each())
}

// nameOfAll returns the name that all commands have, beside ASKING; "" if they have several.
func nameOfAll(commands iter.Seq[[]byte]) string {
	var first, called []byte
	for encoded := range commands {
		name, _ := resp.Argument(encoded, 0)
		switch {
		case string(name) == "ASKING":
		case first == nil:
			first, called = encoded, name
		case !bytes.EqualFold(name, called):
			return ""
		}
	}
	return nameOf(first)
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
