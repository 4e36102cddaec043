package sim

import (
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// stepKinds are refusals of single commands, among them those that a client sends of its
// own: in a handshake, for the map, behind a hit, before a script.
func stepKinds() []kind {
	return []kind{
		{name: "a refused step", partly: true, weight: 8, least: 200 * time.Millisecond, most: 4 * time.Second, begin: refusedStep(false)},
		{name: "refused steps", partly: true, weight: 4, least: 200 * time.Millisecond, most: 2 * time.Second, begin: refusedStep(true)},
	}
}

// steps are the commands that are refused.
var steps = []string{
	"hello", "auth", "select", "client|setname", "client|setinfo", "readonly", "readwrite", "cluster|myid", "role", "asking", "ping",
	"cluster|slots", "cluster|nodes", "command|info", "set", "pttl", "expire", "pexpire", "eval", "evalsha", "script|load", "multi", "exec", "incrby",
}

// refusedStep makes a node, or all of them, refuse one of these, once or for the fault's time.
// Connections are lost at its beginning in half of the cases, so that there are handshakes.
func refusedStep(all bool) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		nodes, host := []*model.Node{w.node(f)}, w.host(f)
		if all {
			nodes, host = w.nodes, ""
		}
		r := f.draws()
		name, text := oneOf(r, steps...), oneOf(r, model.PassingRefusals()...)
		refuse := func(text model.Refusal, times ...int) {
			for _, n := range nodes {
				n.Refuse(name, text, oneOf(r, times...))
			}
		}
		refuse(text, 0, 0, 1)
		if chance(r, 2) {
			w.net.Cut(us, host, 1)
		}
		return func() { refuse("", 0) }
	}
}

// oddRows puts something odd into the maps of all nodes.
func oddRows(w *world, f Fault) func() {
	w.model.Oddity(model.Oddity(1 + f.With%(model.Oddities-1)))
	return func() { w.model.Oddity(model.NothingOdd) }
}
