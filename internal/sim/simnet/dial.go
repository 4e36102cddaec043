package simnet

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"
)

// retry is after what time a dial that got no answer is tried again, as on Linux. Each time
// after that is twice as long.
const retry = time.Second

// retries is how often a dial is tried again. It fails after 127 s, as with the default tcp_syn_retries
// of Linux.
const retries = 6

// Dialer returns what connects as the named dialler does.
func (n *Network) Dialer(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		w, err := n.dial(ctx, from, addr)
		if err != nil {
			return nil, err
		}
		return w.client, nil
	}
}

// TimelessDialer is Dialer for connections that know no deadlines: setting one is an error.
func (n *Network) TimelessDialer(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		w, failed := n.dial(ctx, from, addr)
		if failed != nil {
			return nil, failed
		}
		return timeless{w.client}, nil
	}
}

// Dials returns how many dials to the address have begun; an empty string stands for all
// addresses.
func (n *Network) Dials(addr string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, dialled := range n.dials {
		if addr == "" || dialled == addr {
			count++
		}
	}
	return count
}

// Open returns how many connections to the address diallers have not closed; an
// empty string stands for all addresses.
func (n *Network) Open(addr string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	which := imposition{addr: addr}
	for _, w := range n.wires {
		w.mu.Lock()
		if which.concerns(w.from, w.addr) && !w.toClient.deaf {
			count++
		}
		w.mu.Unlock()
	}
	return count
}

// dial notes the dial, and makes its error one of package net.
func (n *Network) dial(ctx context.Context, from, addr string) (*wire, error) {
	n.mu.Lock()
	n.dials = append(n.dials, addr)
	n.mu.Unlock()
	w, err := n.connect(ctx, from, addr)
	if err != nil {
		err = &net.OpError{Op: "dial", Net: "tcp", Addr: address(addr), Err: err}
	}
	return w, err
}

// connect tries until it is answered, the context ends, or all retries got no answer.
func (n *Network) connect(ctx context.Context, from, addr string) (*wire, error) {
	pause := retry
	for range 1 + retries {
		n.mu.Lock()
		c, closed := n.conditionsLocked(from, addr), n.closed
		n.mu.Unlock()
		again := time.Now().Add(pause)
		pause *= 2
		if closed || !c.silent() {
			if err := sleep(ctx, c.SlowDial+2*c.Latency); err != nil {
				return nil, err
			}
			if w, err := n.accept(ctx, from, addr); w != nil || err != nil {
				return w, err
			}
		}
		if err := sleep(ctx, time.Until(again)); err != nil {
			return nil, err
		}
	}
	return nil, os.NewSyscallError("connect", syscall.ETIMEDOUT)
}

// accept makes the connection, or returns neither it nor an error if there is no
// answer.
func (n *Network) accept(ctx context.Context, from, addr string) (*wire, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, h := n.conditionsLocked(from, addr), n.hosts[addr]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.silent() && !n.closed:
		return nil, nil
	case c.Refuse || h == nil || n.closed:
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	w := n.newWireLocked(from, h, c)
	go w.serve()
	return w, nil
}

// sleep waits for so long or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
