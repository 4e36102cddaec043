package sim

import (
	"time"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// In some worlds the servers start later than the client, which is Lazy.

const (
	// asleep is how long they refuse connections at the beginning.
	asleep = 5 * time.Second

	// wakes is how long a client may take to find out that they do not.
	wakes = 2 * time.Second
)

var lateServers = kind{name: "late servers", after: wakes}

// sleep makes all servers refuse connections until they have started.
func (w *world) sleep() {
	for _, addr := range w.addrs {
		time.AfterFunc(asleep, w.net.Impose(us, addr, simnet.Conditions{Refuse: true}))
	}
	w.rec.note(func(h *History) {
		h.Faults = append([]Fault{{kind: &lateServers, For: asleep}}, h.Faults...)
	})
}
