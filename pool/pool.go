package pool

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/lanes"
)

// A Pool holds the connections to one server. The function that [Custom] returns makes it. It is
// a radix.Client. All methods are safe for concurrent use.
type Pool struct{ node *nodepool.Node }

var _ radix.Client = (*Pool)(nil)

// Custom returns a function for radix.PoolConfig.CustomPool. With it, radix's own Cluster or
// Sentinel uses our pools. The function returns a [*Pool], or an error if the settings cannot be
// used or the server cannot be reached. The Size of a Fixed and the Max of an Adaptive
// are [DefaultSize] by default. Each connection sends READONLY, which radix's DoSecondary needs.
//
// The network is "tcp", or "unix" for the path of a socket. A path that begins with / is that of
// a socket in any case. Other networks are errors.
//
// radix closes a pool when its server is no longer the primary, or has left the cluster,
// while callers still use it. [Pool.Close] lets their calls end first.
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
		node, err := nodepool.Dial(ctx, s, d, addr)
		if err != nil {
			return nil, err
		}
		return &Pool{node}, nil
	}
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
func (p *Pool) Addr() net.Addr { return p.node.Addr() }

// Do performs the action; part of radix.Client. An action that can share its connection travels
// with the commands of other callers. Any other action, and a command that may block, gets a
// dedicated connection while it runs. Outside of radix.WithConn, redislanes.ErrShared refuses
// commands that change their connection, WAIT and WAITAOF.
func (p *Pool) Do(ctx context.Context, action radix.Action) error { return p.node.Do(ctx, action) }

// Stats returns a snapshot. It is safe and cheap to call while the pool works.
func (p *Pool) Stats() redislanes.PoolStats { return p.node.Stats() }

// Close waits up to a second for calls of Do to end, and closes all connections.
//
//   - Calls in flight, or waiting for a connection, get their replies within that second.
//   - Calls that begin in the first 10 ms are served. Later ones fail with [redislanes.ErrClosed] and
//     redislanes.ErrNotSent.
//   - Calls that have not ended after the second fail with an error that wraps [redislanes.ErrClosed].
//     A command that waits for data, such as BLPOP, then has an unknown outcome. Close takes
//     the whole second while one runs.
//
// Then it waits up to three seconds until no goroutine of the pool is left. A goroutine stays
// behind if a function of the program (a log, a strategy, NetDial) does not return.
// Closing again does nothing.
func (p *Pool) Close() error { return p.node.CloseDrained() }

// String describes the pool by its kind and address.
func (p *Pool) String() string { return p.node.String() }

// Format prints String for every verb.
func (p *Pool) Format(f fmt.State, verb rune) { p.node.Format(f, verb) }

// ErrorCodes returns the keys of redislanes.PoolStats.ErrorReplies, such as "OOM". The code of an
// error reply is the first word of its text. The last key, "other", stands for all codes that
// are not in the list.
func ErrorCodes() []string { return nodepool.ErrorCodes() }
