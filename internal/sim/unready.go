package sim

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// In some worlds no server is ready yet when New is called, as after a restart of the
// whole cluster: they load their data, or other programs have taken all of the
// connections that they allow. Where the client is Lazy, they have not even started.

const (
	// readyAfter is when they are.
	readyAfter = 3 * time.Second

	// wakes is how long a client may take to find out.
	wakes = 2 * time.Second
)

// How the servers are when New is called.
const (
	allReady = iota
	allAsleep
	allLoading
	allFull
)

var unreadyServers = kind{name: "servers that are not ready", after: wakes}

// unready makes all servers refuse what New asks until they are ready.
func (w *world) unready() error {
	for _, n := range w.nodes {
		switch w.settings.Unready {
		case allReady:
			return nil
		case allAsleep:
			time.AfterFunc(readyAfter, w.net.Impose(us, w.reached(n), simnet.Conditions{Refuse: true}))
		case allLoading:
			n.Loading(readyAfter)
		case allFull:
			other, err := w.net.Dialer("others")(context.Background(), "tcp", w.reached(n))
			if err != nil {
				return err
			}
			n.MaxClients(1)
			time.AfterFunc(readyAfter-w.rec.now(), func() {
				n.MaxClients(0)
				_ = other.Close() // the server may have closed it
			})
		}
	}
	w.rec.note(func(h *History) {
		h.Faults = append([]Fault{{kind: &unreadyServers, For: readyAfter}}, h.Faults...)
	})
	return nil
}
