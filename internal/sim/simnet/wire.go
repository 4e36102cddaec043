package simnet

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A wire is a connection with its two ends.
type wire struct {
	network        *Network
	host           *Host
	from, addr     string
	client, server *conn

	mu         sync.Mutex // guards what follows; never held while somebody waits
	conditions Conditions
	toServer   stream
	toClient   stream
	jitter     rand.PCG
	luck       rand.PCG
	hangUp     *time.Timer
	used       int64 // when the dialler wrote last
	late       int64 // nanoseconds by which bytes to the client travel longer than on other wires
}

func newWire(n *Network, from string, h *Host, near address, seed uint64) *wire {
	w := &wire{network: n, host: h, from: from, addr: h.addr}
	w.jitter.Seed(n.seed, seed)
	w.luck.Seed(^n.seed, seed)
	w.toServer.init(w, &w.toClient, ToServer)
	w.toClient.init(w, &w.toServer, ToClient)
	w.client = &conn{wire: w, in: &w.toClient, out: &w.toServer, local: near, remote: address(h.addr)}
	w.server = &conn{wire: w, in: &w.toServer, out: &w.toClient, local: address(h.addr), remote: near}
	return w
}

// serve has the host serve the connection.
func (w *wire) serve() {
	defer w.server.Close()
	w.host.serve(w.server)
}

var _ net.Conn = (*conn)(nil)

// apply makes the conditions those of the wire; fresh are those of them that were
// not known before.
func (w *wire) apply(c, fresh Conditions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := clock()
	was := w.conditions.Bandwidth
	w.conditions = c
	for _, s := range []*stream{&w.toServer, &w.toClient} {
		if was > 0 && c.Bandwidth == 0 {
			s.hurryLocked(now)
		}
		s.holdLocked(c.holds(s.way), now)
	}
	w.toServer.limitLocked(c.CutToServer, fresh.CutToServer)
	w.toClient.limitLocked(c.CutToClient, fresh.CutToClient)
	switch {
	case c.HangUpAfter == 0 && w.hangUp != nil:
		w.hangUp.Stop()
		w.hangUp = nil
	case fresh.HangUpAfter > 0 && w.hangUp == nil:
		w.hangUp = time.AfterFunc(fresh.HangUpAfter, func() { _ = w.server.Close() })
	}
	w.pokeLocked(now)
}

// cut resets both ends now.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := clock()
	for _, s := range []*stream{&w.toServer, &w.toClient} {
		s.loseLocked(now)
		s.rst, s.forced = min(s.rst, now), true
	}
	w.pokeLocked(now)
}

// vanish resets the server's end, which the client does not learn.
func (w *wire) vanish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := clock()
	w.toServer.loseLocked(now)
	w.toClient.loseLocked(now)
	w.toServer.rst, w.toServer.forced = min(w.toServer.rst, now), true
	w.pokeLocked(now)
}

// delay makes bytes to the client travel longer by so much.
func (w *wire) delay(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = int64(by)
}

// chance returns a number from [0, 1), of which each connection has its own row.
func (w *wire) chance() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return float64(w.luck.Uint64()>>11) / (1 << 53)
}

// pokeLocked makes all who wait look again.
func (w *wire) pokeLocked(now int64) {
	for _, s := range []*stream{&w.toServer, &w.toClient} {
		s.reader.arm(now, now)
		s.writer.arm(now, now)
	}
}
