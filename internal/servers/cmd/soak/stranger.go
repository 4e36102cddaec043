package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// Faults by which an address leads to something else than the node that the
// client knows there.

// maxDials is how many connections a server that hangs up may get within
// dialSpan, from pools and refreshes together. 50 are a pool's own bound.
const (
	maxDials = 100
	dialSpan = 2 * time.Second
)

// hangUp kills a primary, answers at its address with greetings only until its
// replica has taken over, and for some time after that, and starts it again.
func (s *soak) hangUp(ctx context.Context, n *servers.Node, hold time.Duration) error {
	if err := n.Kill(); err != nil {
		return err
	}
	began := time.Now()
	h, err := redistest.LaunchHangUp(n.Addr(), n.ID())
	if err != nil {
		return errors.Join(err, s.healthy(), s.restart(n))
	}
	promoted := s.healthy()
	pass(ctx, hold)
	spans := time.Since(began)/dialSpan + 1
	if got, most := h.Accepted(), maxDials*int(spans); got > most {
		s.findings.addf("%d connections to a server that hangs up, in %d spans of %v: want at most %d", got, spans, dialSpan, most)
	}
	return errors.Join(h.Close(), promoted, s.restart(n))
}

// standalone kills a primary, starts a server without cluster mode at its address,
// which must get no key, and starts the node again. The node's replica may copy
// the emptiness of that server before it takes over: Redis loses those writes.
func (s *soak) standalone(ctx context.Context, n *servers.Node, hold time.Duration) error {
	if err := n.Kill(); err != nil {
		return err
	}
	steps, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	if err := s.group.apart(func() error { return n.RestartAlone(steps) }); err != nil {
		return errors.Join(err, s.healthy(), s.restart(n))
	}
	promoted := s.healthy()
	pass(ctx, hold)
	var keys int
	asked := n.Do(steps, &keys, "DBSIZE")
	if keys > 0 {
		s.findings.addf("a server without cluster mode at the address of a killed node was given %d keys", keys)
	}
	return errors.Join(asked, promoted, n.Kill(), s.restart(n))
}

// loseShard kills a primary and its replicas, so that nobody can succeed it, and
// starts them again, without their keys.
func (s *soak) loseShard(ctx context.Context, v view, node int, hold time.Duration) error {
	var shard []*servers.Node
	for i, primary := range v.primary {
		if primary == node && i != node {
			shard = append(shard, s.cluster.Nodes()[i])
		}
	}
	shard = append(shard, s.cluster.Nodes()[node]) // last: a replica could win an election
	for _, n := range shard {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	pass(ctx, s.settings.nodeTimeout+failOpen)
	s.givenUp.Store(true)
	pass(ctx, hold)
	s.givenUp.Store(false)
	var err error
	for i := range shard {
		err = errors.Join(err, s.restart(shard[len(shard)-1-i]))
	}
	return err
}

// failOpen is how long after a shard is known to be lost its calls may still take
// their whole time: the client's window of a second, and as much for a busy machine.
const failOpen = 2 * time.Second

func (s *soak) restart(n *servers.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	return s.group.apart(func() error { return n.Restart(ctx) })
}

// throttled is the bytes a second that each connection over a throttled link
// carries in each direction: less than the load is.
const throttled = 100 << 10

// throttle leads the connections to a node over a link that carries little.
func (s *soak) throttle(ctx, steps context.Context, n *servers.Node, hold time.Duration) error {
	link, err := redistest.LaunchProxy(n.Addr())
	if err != nil {
		return err
	}
	link.Throttle(redistest.ToServer, throttled)
	link.Throttle(redistest.ToClient, throttled)
	s.detours.set(n.Addr(), link.Addr())
	err = n.Do(steps, nil, "CLIENT", "KILL", "TYPE", "normal")
	pass(ctx, hold)
	s.detours.set(n.Addr(), "")
	return errors.Join(err, link.Close())
}

// detours are where connections to an address are led instead.
type detours struct {
	mu sync.Mutex // guards to
	to map[string]string
}

func (d *detours) set(addr, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to == nil {
		d.to = make(map[string]string)
	}
	d.to[addr] = to
}

func (d *detours) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	if to := d.to[addr]; to != "" {
		addr = to
	}
	d.mu.Unlock()
	var plain net.Dialer
	return plain.DialContext(ctx, network, addr)
}
