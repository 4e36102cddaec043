package sim

import (
	"context"
	"time"
)

// In some worlds no server is ready yet when New is called, as after a restart of the
// whole cluster: they load their data, or other programs have taken all of the
// connections that they allow.

// readyAfter is when they are.
const readyAfter = 3 * time.Second

// How the servers are when New is called.
const (
	allReady = iota
	allLoading
	allFull
)

var unreadyServers = kind{name: "servers that are not ready", after: wakes}

// unready makes all servers refuse what New asks until they are ready.
func (w *world) unready() error {
	for _, n := range w.nodes {
		if w.settings.Unready == allLoading {
			n.Loading(readyAfter)
			continue
		}
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
	w.rec.note(func(h *History) {
		h.Faults = append([]Fault{{kind: &unreadyServers, For: readyAfter}}, h.Faults...)
	})
	return nil
}
