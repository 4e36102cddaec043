package sim

import (
	"bytes"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// replyKinds are what servers reply that are hostile, or make use of what RESP3
// allows.
func replyKinds() []kind {
	return []kind{
		{name: "hostile replies", weight: 6, least: 200 * time.Millisecond, most: 4 * time.Second, begin: hostile},
		{name: "too much", weight: 5, least: 500 * time.Millisecond, most: 5 * time.Second, begin: tooMuch},
		{name: "attributes", weight: 5, least: 500 * time.Millisecond, most: 5 * time.Second, begin: annotated},
	}
}

const (
	// replyDepth and replyAttributes are the limits that clients have in worlds, other
	// than those with the zero Config, so that going beyond them costs little.
	replyDepth      = 24
	replyAttributes = 100

	// defaultDepth is what clients have that set no limit.
	defaultDepth = 1024
)

// tooDeep is a reply that is nested too deep for any client here.
var tooDeep = []byte(strings.Repeat("*1\r\n", 2*defaultDepth) + ":1\r\n")

// breaking are replies that no server may give. What follows them means nothing.
var breaking = []string{
	"$-5\r\n", "*-7\r\n", "%-2\r\n", "$9223372036\r\n", "$99999999999999999999\r\n", "*999999999\r\n", "%600000000\r\n", "~16777217\r\n",
	"?1\r\n", ":12\n", "$3\r\nabcde\r\n", "+" + strings.Repeat("x", 70_000) + "\r\n", "*2\r\n$-9\r\n:1\r\n",
}

// hostile makes a node break the protocol in some of its replies.
func hostile(w *world, f Fault) func() {
	every, count := 1+f.With>>8%4, f.With>>16
	return w.interpose(w.node(f), func(_ [][]byte, honest []byte, _ int) ([]byte, bool) {
		if count++; count%every != 0 {
			return honest, false
		}
		return []byte(breaking[count/every%uint64(len(breaking))]), true
	})
}

// tooMuch makes a node go beyond the limits of the client in some of its replies, of
// which the end can be found all the same.
func tooMuch(w *world, f Fault) func() {
	count := f.With
	return w.interpose(w.node(f), func(_ [][]byte, honest []byte, _ int) ([]byte, bool) {
		switch count++; {
		case count%3 != 0, honest[0] == '-': // of a command that did not run nobody says that it did
			return honest, false
		case count%2 == 0 && !w.settings.Unset:
			return append(bytes.Repeat([]byte("|0\r\n"), replyAttributes+1), honest...), true
		}
		return tooDeep, true
	})
}

// annotated makes a node put attributes before the values of its replies, as RESP3
// allows it.
func annotated(w *world, f Fault) func() {
	attribute := []byte("|1\r\n+ttl\r\n:3600\r\n")
	return w.interpose(w.node(f), func(_ [][]byte, honest []byte, resp int) ([]byte, bool) {
		if resp < 3 {
			return honest, false
		}
		changed := append([]byte{}, attribute...)
		if head := bytes.IndexByte(honest, '\n') + 1; honest[0] == '*' && head > 0 && head < len(honest) {
			changed = append(append(changed, honest[:head]...), attribute...)
			return append(changed, honest[head:]...), false
		}
		return append(changed, honest...), false
	})
}

// interpose changes the replies of a node, and notes the commands whose reply must not be
// believed.
func (w *world) interpose(n *model.Node, change func(args [][]byte, honest []byte, resp int) (instead []byte, beyond bool)) func() {
	n.Interpose(func(args [][]byte, honest []byte, resp int) []byte {
		instead, beyond := change(args, honest, resp)
		if beyond {
			text := textOf(args)
			w.rec.note(func(h *History) { h.Beyond[text] = true })
		}
		return instead
	})
	return func() { n.Interpose(nil) }
}
