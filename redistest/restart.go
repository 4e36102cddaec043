package redistest

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// Stop takes the node down: its connections end, and new ones are refused. Its keys and slots stay.
// Stopping again does nothing.
func (e *Emulated) Stop(node int) {
	e.checkNode(node)
	e.restarts.Lock()
	defer e.restarts.Unlock()
	e.stop(node)
}

// Start ends a Stop: the node listens at its address again. It returns an error if another program
// has taken the address meanwhile. Starting a node that is up does nothing.
func (e *Emulated) Start(node int) error {
	e.checkNode(node)
	e.restarts.Lock()
	defer e.restarts.Unlock()
	if e.up(node) {
		return nil
	}
	d, err := openDoor(e.addrs[node])
	if err != nil {
		return fmt.Errorf("redistest: start node %d: %w", node, err)
	}
	m := e.nodes[node]
	m.Lock()
	m.Ctx, m.CtxCancel = context.WithCancel(context.Background()) // without it, BLPOP and the like return at once
	m.Unlock()
	// A client must not reach the node before it has its hook. So miniredis starts at an address
	// that no client knows.
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		d.close()
		return fmt.Errorf("redistest: start node %d: %w", node, err)
	}
	e.attach(node)
	e.doors[node] = d
	d.lead(m.Server())
	return nil
}

// stop is Stop for a caller that holds restarts.
func (e *Emulated) stop(node int) {
	if d := e.doors[node]; d != nil {
		d.close()
		e.doors[node] = nil
	}
	e.nodes[node].Close()
}

func (e *Emulated) up(node int) bool {
	m := e.nodes[node]
	m.Lock()
	defer m.Unlock()
	return m.Server() != nil
}

// attach makes the node's new server one of a cluster.
func (e *Emulated) attach(node int) {
	s := e.nodes[node].Server()
	e.mu.Lock()
	e.servers[node] = s
	e.mu.Unlock()
	s.SetPreHook(func(p *server.Peer, cmd string, args ...string) bool { return e.hook(node, p, cmd, args) })
}

// A door is the address of a node that was started again.
type door struct {
	listener net.Listener
	accepts  sync.WaitGroup
}

func openDoor(addr string) (*door, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &door{listener: l}, nil
}

// lead gives new connections to the server until the door is closed.
func (d *door) lead(to *server.Server) {
	d.accepts.Go(func() {
		for {
			conn, err := d.listener.Accept()
			if err != nil {
				return
			}
			to.ServeConn(conn)
		}
	})
}

func (d *door) close() {
	_ = d.listener.Close()
	d.accepts.Wait()
}
