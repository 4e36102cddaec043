package sim

import (
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// replyKinds are replies that are hostile, and refusals of single commands, among them those that
// a client sends of its own: in a handshake, for the map, behind a hit, before a script.
func replyKinds() []kind {
	return []kind{
		{name: "hostile replies", weight: 6, least: 200 * time.Millisecond, most: 4 * time.Second, begin: hostile},
		{name: "refused steps", partly: true, weight: 12, least: 200 * time.Millisecond, most: 4 * time.Second, begin: refusedSteps},
		{name: "flaky", partly: true, weight: 6, least: 100 * time.Millisecond, most: 4 * time.Second, begin: flaky},
	}
}

// breaking are replies that no server may give, and a set of which no element comes. What follows them means nothing.
var breaking = []string{
	"$-5\r\n", "*-7\r\n", "%-2\r\n", "$9223372036\r\n", "$99999999999999999999\r\n", "*999999999\r\n", "%600000000\r\n", "~16777217\r\n",
	"?1\r\n", ":12\n", "$3\r\nabcde\r\n", "*2\r\n$-9\r\n:1\r\n",
}

// hostile makes a node break the protocol in some of its replies.
func hostile(w *world, f Fault) func() {
	every, count := 1+f.With>>8%4, f.With>>16
	n := w.node(f)
	n.Interpose(func(args [][]byte, honest []byte, _ int) []byte {
		if count++; count%every != 0 {
			return honest
		}
		text := textOf(args)
		w.rec.note(func(h *History) { h.Beyond[text] = true })
		return []byte(breaking[count/every%uint64(len(breaking))])
	})
	return func() { n.Interpose(nil) }
}

// steps are the commands that are refused.
var steps = []string{
	"hello", "auth", "select", "client|setname", "readonly", "readwrite", "cluster|myid", "role", "asking", "ping",
	"cluster|slots", "cluster|nodes", "set", "pttl", "expire", "pexpire", "eval", "evalsha", "script|load", "multi", "exec", "incrby", "increx",
}

// refusedSteps makes a node, or all of them, refuse one of these, once or for the fault's time.
// Connections are lost at its beginning in half of the cases, so that there are handshakes.
func refusedSteps(w *world, f Fault) func() {
	r := f.draws()
	nodes, host := []*model.Node{w.node(f)}, w.host(f)
	if chance(r, 3) {
		nodes, host = w.nodes, ""
	}
	name, text := oneOf(r, steps...), oneOf(r, model.PassingRefusals()...)
	for _, n := range nodes {
		n.Refuse(name, text, oneOf(r, 0, 0, 1))
	}
	if chance(r, 2) {
		w.net.Cut(us, host, 1)
	}
	return func() {
		for _, n := range nodes {
			n.Refuse(name, "", 0)
		}
	}
}

// flaky makes nodes refuse one in so many commands, in the midst of pipelines.
func flaky(w *world, f Fault) func() {
	why := oneOf(f.draws(), model.IsLoading, model.ClusterDown)
	return switched(func(n *model.Node, on bool) {
		text := why
		if !on {
			text = ""
		}
		n.Refuse(model.Keyed, text, -2-int(f.With>>8%6))
	}, 3)(w, f)
}
