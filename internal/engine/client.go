package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Client is the client of package cluster. Package pipeline also uses it.
type Client struct {
	cfg   Config
	seeds []string

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	nodes // and the map in use

	notStarted atomic.Pointer[error] // why there is no map yet; nil unless Config.Lazy is set

	counters counters
	refusals refusals
	log      *guard.Log

	exchanges sync.Pool // see Kept; each client has its own, so that a synctest bubble keeps what it has made

	refresher refresher
	tracer    tracer
}

// turns counts the clients of this process. It begins at random.
var turns atomic.Uint32

func init() { turns.Store(rand.Uint32()) }

func newClient(cfg Config, seeds []string) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{cfg: cfg, seeds: slices.Clone(seeds), ctx: ctx, cancel: cancel}
	c.nodes.client, c.at, c.change = c, make(map[string]*node), make(chan struct{})
	c.refresher = newRefresher(c)
	c.log = guard.NewLog(cfg.Logger)
	c.tracer = newTracer(cfg.Trace, c.log)
	empty := slots.NewTable[*node](nil, nil)
	empty.Turn = turns.Add(1)
	c.topology.Store(empty)
	return c
}

var (
	errClosed   = fmt.Errorf("redislanes: the client is %w", redislanes.ErrClosed)
	errNotMade  = errors.New("cluster: the Client was not made with New or Config.New: use one that they returned without an error")
	errNoAnswer = errors.New("no server has answered yet")
)

// Made reports whether New has made the client.
func (c *Client) Made() bool { return c != nil && c.ctx != nil }

// Usable refuses what no call can work with, and calls for as long as there is no map of the slots.
func (c *Client) Usable(ctx context.Context) error {
	switch {
	case c == nil || c.ctx == nil:
		return fmt.Errorf("%w: %w", errNotMade, redislanes.ErrNotSent)
	case ctx == nil:
		return wire.NotSent("", cause.ErrNilContext)
	case c.ctx.Err() != nil:
		return errClosed
	case c.topology.Load().Map != nil:
		return nil
	}
	err := c.notStarted.Load()
	if err == nil {
		err = &errNoAnswer
	}
	return &redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: *err}
}

// current returns the topology. A client that was not made is a mistake in the
// program, and methods without an error say so in a panic.
func (c *Client) current() *topology {
	if !c.Made() {
		panic(errNotMade.Error())
	}
	return c.topology.Load()
}

// Seed returns the first of the addresses that the client was made with.
func (c *Client) Seed() string {
	_ = c.current()
	return c.seeds[0]
}

// Primary returns the address of the node that owns the slot, as far as the
// client knows; "" if none does.
func (c *Client) Primary(slot uint16) string {
	if slot >= slots.Count {
		return ""
	}
	if n := c.current().Primary(int32(slot)); n != nil {
		return n.addr
	}
	return ""
}

// Owners returns a number that changes whenever a slot gets another owner, as far as the
// client knows.
func (c *Client) Owners() uint64 { return c.current().Version }

// Kept returns the pool in which package cluster keeps the memory of exchanges.
func (c *Client) Kept() *sync.Pool { return &c.exchanges }

// String describes the client.
func (c *Client) String() string {
	if c == nil {
		return "cluster.Client(nil)"
	}
	return fmt.Sprintf("cluster.Client{%v}", c.seeds)
}

// Stats returns a snapshot. It is safe to call while the client works.
func (c *Client) Stats() redislanes.Stats {
	if !c.Made() {
		return redislanes.Stats{}
	}
	s := redislanes.Stats{
		Slots: c.current().Covered(),
		Moved: c.counters.again[wasMoved].Load(), Ask: c.counters.again[wasAsked].Load(),
		Refused: c.counters.again[wasRefused].Load(), NotSent: c.counters.again[wasNotSent].Load(), Repeated: c.counters.again[wasUnknown].Load(),
		Refreshes: c.counters.refreshes.Load(), RefreshErrors: c.counters.refreshErrors.Load(),
	}
	for _, n := range c.list() {
		for u := range n.pools {
			if p := n.pools[u].Load(); p != nil {
				s.Nodes = append(s.Nodes, redislanes.NodeStats{Role: use(u).String(), Pool: p.Stats()})
			}
		}
	}
	return s
}

// Close closes all connections. Commands in flight end with an error that wraps ErrClosed. It
// returns when no goroutine of the client is left. Closing again does nothing.
func (c *Client) Close() error {
	if c == nil || c.ctx == nil {
		return errNotMade
	}
	c.mu.Lock()
	c.closed = true
	c.cancel()
	c.mu.Unlock()
	var closing sync.WaitGroup // at a time: each may wait for a function of the user
	for _, n := range c.list() {
		for _, p := range n.leave() {
			closing.Go(func() { _ = p.Close() })
		}
	}
	closing.Wait()
	c.tasks.Wait()
	return nil
}

type counters struct {
	again                    [wasUnknownScript + 1]atomic.Uint64 // commands that were sent again, by the reason
	refreshes, refreshErrors atomic.Uint64
}
