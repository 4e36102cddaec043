package pool

import (
	"context"
	"fmt"
	"net"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/lanes"
)

// A Pool is the connections to one server, as the function that [Custom] returns
// makes it. It is a radix.Client. All methods are safe for concurrent use.
type Pool nodepool.Pool

var _ radix.Client = (*Pool)(nil)

// Custom returns what radix.PoolConfig.CustomPool takes, so that radix's own
// Cluster or Sentinel works over our pools, whose default size is [DefaultSize].
// The clients are [*Pool]. Each connection sends READONLY, as radix's DoSecondary
// needs it. Settings that cannot be used, and a server that cannot be reached,
// are errors of the returned function.
func Custom(c Config, d lanes.Dialer) func(ctx context.Context, network, addr string) (radix.Client, error) {
	s := nodepool.Of(c)
	return func(ctx context.Context, _, addr string) (radix.Client, error) {
		p, err := nodepool.Dial(ctx, s, d, addr)
		if err != nil {
			return nil, err
		}
		return (*Pool)(p), nil
	}
}

// Validate returns an error that names the field and the value if the settings
// cannot be used. cluster.Config.New and what [Custom] returns give the same error.
func Validate(c Config) error { return nodepool.Validate(nodepool.Of(c)) }

func (p *Pool) pool() *nodepool.Pool { return (*nodepool.Pool)(p) }

// Addr returns the server's address; part of radix.Client.
func (p *Pool) Addr() net.Addr { return p.pool().Addr() }

// Do performs the action; part of radix.Client. One that may share its
// connection travels with the commands of others; for any other, and for commands
// that may block, a connection is lent while it runs. Outside of radix.WithConn,
// commands that change their connection are refused with redislanes.ErrShared, and WAIT
// and WAITAOF with redislanes.ErrNoWrites.
func (p *Pool) Do(ctx context.Context, action radix.Action) error { return p.pool().Do(ctx, action) }

// Stats returns a snapshot. It is safe and cheap to call while the pool works.
func (p *Pool) Stats() Stats { return Stats(p.pool().Stats()) }

// Close closes all connections, also those that are lent. Commands in flight or
// waiting end with an error that wraps [ErrClosed]. It waits until no goroutine of
// the pool is left, but no longer than three seconds: one in which a function of
// the program does not return (a log, a strategy, OnWait, NetDial) is left behind.
// Closing again does nothing.
func (p *Pool) Close() error { return p.pool().Close() }

// String describes the pool by its kind and address.
func (p *Pool) String() string { return p.pool().String() }

// Format prints String for every verb.
func (p *Pool) Format(f fmt.State, verb rune) { p.pool().Format(f, verb) }
