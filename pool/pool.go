package pool

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/bridge"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// A Pool holds the connections to one server. The function that [Custom] returns makes it. It is
// a radix.Client. All methods are safe for concurrent use.
type Pool struct {
	node   *nodepool.Node
	server bridge.Server // the node's, for actions
}

var _ radix.Client = (*Pool)(nil)

// Custom returns a function for radix.PoolConfig.CustomPool. With it, radix's own Cluster or
// Sentinel uses our pools. The function returns a [*Pool], or an error if the settings cannot be
// used or the server cannot be reached. The Size of a Fixed and the Max of an Adaptive
// are 50 by default. Each connection sends READONLY, which radix's DoSecondary needs.
//
// The network is "tcp", or "unix" for the path of a socket. A path that begins with / is that of
// a socket in any case. Other networks are errors.
//
// radix closes a pool when its server is no longer the primary, or has left the cluster. Calls that
// still use it then fail with [redislanes.ErrClosed].
func Custom(c Config, d lanes.Dialer) func(ctx context.Context, network, addr string) (radix.Client, error) {
	s, invalid := settingsOf(c)
	return func(ctx context.Context, network, addr string) (radix.Client, error) {
		if invalid != nil {
			return nil, invalid
		}
		addr, err := addrOn(network, addr)
		if err != nil {
			return nil, err
		}
		return dial(ctx, s, d, addr)
	}
}

// dial returns a pool after its server has answered a PING.
func dial(ctx context.Context, s nodepool.Settings, d lanes.Dialer, addr string) (radix.Client, error) {
	if err := wire.CheckAddr(addr); err != nil {
		return nil, fmt.Errorf("pool: the address cannot be used: %w", err)
	}
	node, err := nodepool.NewFor(s.WithDefaults(true), d, wire.Purpose{ReadOnly: true}, addr, nil)
	if err != nil {
		return nil, err
	}
	p := &Pool{node, bridge.Server{Submitter: node, Dedicate: func(ctx context.Context) (bridge.Dedicated, error) { return node.Dedicate(ctx) }}}
	if err := p.Do(ctx, radix.Cmd(nil, "PING")); err != nil && !wire.RefusesWrites(err) {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// addrOn returns the address as a Dialer takes it: host:port, or the absolute path of a socket.
// It leaves a URL, which may hold a password, to those that refuse it.
func addrOn(network, addr string) (string, error) {
	switch {
	case network == "tcp" || network == "" || network == "unix" && strings.Contains(addr, "://"):
		return addr, nil
	case network != "unix":
		return "", fmt.Errorf("pool: the network is %q: want tcp or unix; for another one set Dialer.NetDial and pass tcp", network)
	}
	path, err := filepath.Abs(addr)
	if err != nil {
		return "", fmt.Errorf("pool: %q is no path of a socket: %w", addr, err)
	}
	return path, nil
}

// Addr returns the server's address; part of radix.Client.
func (p *Pool) Addr() net.Addr { return p.server.Addr() }

// Do performs the action; part of radix.Client. An action that can share its connection travels
// with the commands of other callers. Any other action, and a command that may block, gets a
// dedicated connection while it runs. Outside of radix.WithConn, redislanes.ErrShared refuses
// commands that change their connection, WAIT and WAITAOF.
func (p *Pool) Do(ctx context.Context, action radix.Action) error { return p.server.Do(ctx, action) }

// Stats returns a snapshot. It is safe and cheap to call while the pool works.
func (p *Pool) Stats() redislanes.PoolStats { return p.node.Stats() }

// Close closes all connections. Calls in flight or waiting fail with an error that wraps
// [redislanes.ErrClosed]. Close returns when no goroutine of the pool is left, so a function that the
// pool calls (a log, a strategy, NetDial) must not call it. Closing again does nothing.
func (p *Pool) Close() error { return p.node.Close() }

// Format describes the pool by its kind and address for every verb of package fmt.
func (p *Pool) Format(f fmt.State, verb rune) { p.node.Format(f, verb) }
