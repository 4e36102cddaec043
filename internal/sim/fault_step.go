package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

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

// ownKinds are faults of some worlds only.
func (s *Settings) ownKinds() []kind {
	if !s.Proxy {
		return nil
	}
	return []kind{{name: proxyTexts, partly: true, weight: 20, least: 200 * time.Millisecond, most: 4 * time.Second, begin: proxyErrors}}
}

const proxyTexts = "a proxy's own errors"

var (
	// twemproxy and Envoy reply these when they have lost a server that may have run the
	// command, or have found none.
	perhaps = []string{"ERR Connection timed out", "ERR Connection reset by peer", "ERR Host is down", "upstream failure", "upstream protocol error"}
	nobodys = []string{"ERR Connection refused", "ERR No route to host", "no upstream host"}
)

// ofNoServer reports whether no server says so: what takes any reply for a value takes it for one.
func ofNoServer(said resp3.SimpleError) bool {
	text := strings.TrimSpace(said.S)
	return text == string(model.Unlisted) || slices.Contains(perhaps, text) || slices.Contains(nobodys, text)
}

// proxyErrors makes the proxy reply errors of its own, in place of replies of the server or
// before the server sees the command.
func proxyErrors(w *world, f Fault) func() {
	r := f.draws()
	n, text, count := w.nodes[0], oneOf(r, perhaps...), f.With
	every := 1 + f.With>>8%3
	var ends []func()
	if !chance(r, 4) {
		ends = append(ends, w.interpose(n, func(_ [][]byte, honest []byte, _ int) ([]byte, bool) {
			if count++; count%every != 0 || honest[0] == '-' {
				return honest, false
			}
			return []byte("-" + text + "\r\n"), false
		}))
	}
	if chance(r, 3) {
		n.Refuse(model.Keyed, model.Refusal(oneOf(r, append(nobodys, perhaps...)...)), 0)
		ends = append(ends, func() { n.Refuse(model.Keyed, "", 0) })
	}
	return inTurn(ends)
}
