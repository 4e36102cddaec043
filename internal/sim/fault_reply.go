package sim

import "time"

// replyKinds are what hostile servers reply.
func replyKinds() []kind {
	return []kind{{name: "hostile replies", weight: 6, least: 200 * time.Millisecond, most: 4 * time.Second, begin: hostile}}
}

// breaking are replies that no server may give. What follows them means nothing.
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
