package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/internal/source"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// Config is the settings of a [Client]. The zero value works: laned pools, plain TCP, no password.
type Config struct {
	// Pool is the kind and size of the pool for each node: pool.Fixed, pool.Adaptive or pool.Laned.
	// Default pool.Laned{}, which has 4 lanes to each node.
	Pool pool.Config

	// Dialer makes the connections.
	Dialer lanes.Dialer

	// RefreshEvery is how often the map of the slots is fetched even if nothing hints at a change.
	// Default 15 s, at least 50 ms; negative for never.
	RefreshEvery time.Duration

	// RetryWindow is how long the client retries a command that did not run, from the command's own
	// first failure on. Default 1 s, at least 1 ms. Negative: one try. [WhileContextLasts]: no end.
	// A context that ends earlier ends the retries. These commands are retried:
	//
	//   - not sent, except after [redislanes.ErrExhausted] and a final [redislanes.HandshakeError]
	//   - refused for now: TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, READONLY, NOREPLICAS, BUSY,
	//     UNBLOCKED by a failover
	//   - redirected once more after eight MOVED and ASK in a row
	//   - for a node that refuses what Dialer.Credentials has returned
	//   - for a slot that no node serves
	//
	// When a node has been down, or a node or a slot has refused commands, for longer than
	// RetryWindow, each call tries once, until a command succeeds there (docs/errors.md).
	RetryWindow time.Duration

	// Slow is the names of the commands that are slow, in upper or lower case. Default
	// [SlowCommands]; some of them are slow only with many keys. A laned pool with lanes for slow
	// commands (pool.Laned.SlowLanes) keeps them from delaying others. Scripts are slow by default:
	// if those of a service are short, give a list without EVAL and EVALSHA.
	Slow []string

	// AddrMap, if not nil, translates each address (host:port) that a server
	// names, for clusters behind NAT. Many goroutines call it at the same time. It is a plain
	// function that returns at once. If an address needs no translation, it returns the address as it
	// is. A node for which it returns "" is not used.
	AddrMap func(addr string) string

	// Near, if not nil, reports whether the node at an address (host:port, after AddrMap) is near this
	// program. Reads from replicas ([Client.DoSecondary], pipeline.Config.Replicas) go to near ones
	// first, then to others, then to the primary. The zone is the availability zone that the servers
	// tell in CLUSTER SLOTS, as Valkey 9.1 does with the setting availability-zone, or "". Near is
	// called for each node of a new map. It must return soon and be safe for concurrent use.
	Near func(addr, zone string) bool

	// Sentinel, if it is not empty, is the name by which Sentinels know the primary, such as "mymaster".
	// New is given their addresses. A failover changes the map as in a cluster. DoSecondary reads from
	// the replicas that the Sentinels do not report as down. AddrMap translates all addresses.
	Sentinel string

	// SentinelDialer makes the connections to the Sentinels. It has nothing from Dialer, which is for
	// the servers: neither its password nor its TLS.
	SentinelDialer lanes.Dialer

	// Standalone sends everything to the first address that answers, and no CLUSTER, READONLY or
	// ROLE. Default false. It is for users that may not send these commands, and for proxies that
	// hang up on unknown commands (see also Dialer.NoSetInfo). A single server that allows CLUSTER
	// does not need it. MOVED is followed, so a Redis Cluster can be used that way, too.
	Standalone bool

	// Lazy lets New return before a server has answered. Until then, calls fail at once with
	// redislanes.ErrNotSent and the cause. Attempts to connect follow each other within a
	// second. Client.Sync makes one at once.
	Lazy bool

	// Trace, if not nil, is told how requests end, how long they take and how long they wait
	// for connections. metrics.New makes a Trace for Prometheus, and redisotel.Config one for
	// OpenTelemetry. [redislanes.JoinTraces] joins several. Without a Trace, no request is
	// timed.
	Trace *redislanes.Trace

	// Logger is told of what changes: nodes that go down and come back, slots that
	// move, outages that last. docs/metrics.md lists the lines. Default none.
	Logger *slog.Logger
}

// WhileContextLasts is a [Config.RetryWindow] without an end: calls try again until
// they succeed or their context ends. Give them one with a deadline.
const WhileContextLasts = engine.WhileContextLasts

// New connects to the first of the addresses that answers, learns the cluster's nodes and
// slots from it, and returns a client. An address is host:port or the absolute path of a unix
// socket; blanks around it are ignored. The context bounds only New itself.
//
// If no server gives a map of the slots, and one refuses for a reason that may pass, New asks
// again until the context ends. Such reasons are: the server is loading its data, it has too
// many clients, or it refuses what Dialer.Credentials has returned.
//
// Of several servers without cluster mode the client uses the first of the addresses that answers; a replica
// only if no other one answers. It changes to another server, which has other data, only when the one in use
// has become a replica or has not answered for a second. It does not change back when the first one returns:
// that would mix their data.
//
// Settings that cannot be used are errors that name the field and the value. If no address
// gives a map, the error lists each address with its cause. errors.Is and errors.As find the
// causes.
func (c Config) New(ctx context.Context, addrs []string) (*Client, error) {
	settings, err := c.settings()
	if err != nil {
		return nil, err
	}
	made, err := settings.New(ctx, addrs)
	client := (*Client)(made)
	if err != nil {
		return client, err
	}
	if c.Trace != nil && c.Trace.Stats != nil {
		if err := readStats(c.Trace, client.Stats); err != nil {
			_ = client.Close()
			return nil, fmt.Errorf("cluster: Config.Trace: %w", err)
		}
	}
	return client, nil
}

// New is [Config.New] with the zero Config: laned pools, plain TCP, no password.
//
//	client, err := cluster.New(ctx, []string{"127.0.0.1:7000"})
func New(ctx context.Context, addrs []string) (*Client, error) { return Config{}.New(ctx, addrs) }

// readStats calls a user's function.
func readStats(t *redislanes.Trace, read func() redislanes.Stats) (err error) {
	defer guard.Catch("Trace.Stats", &err)
	return t.Stats(read)
}

// settings returns what the client runs on, or an error that names the field and the value.
func (c Config) settings() (s engine.Config, err error) {
	if err := c.validate(); err != nil {
		return s, err
	}
	s = engine.Config{
		Dialer: c.Dialer, RefreshEvery: c.RefreshEvery, RetryWindow: c.RetryWindow,
		Source: c.source(), Logger: c.Logger, Lazy: c.Lazy, Trace: c.Trace,
	}
	if c.Pool != nil {
		if s.Pool, err = nodepool.Of(c.Pool); err != nil {
			return s, err
		}
	}
	s.Slow, err = engine.SlowOnly(c.Slow)
	return s, err
}

// source returns where maps of the slots come from.
func (c Config) source() source.Source {
	nodes := source.NewNodes(c.Dialer, c.AddrMap, c.Near)
	switch {
	case c.Sentinel != "":
		return source.NewSentinel(nodes, c.SentinelDialer, c.Sentinel)
	case c.Standalone:
		return source.Server{Nodes: nodes}
	}
	return source.Cluster{Nodes: nodes}
}

// Validate returns the error that New returns for settings that cannot be used. It names the field and the value.
func (c Config) Validate() error {
	_, err := c.settings()
	return err
}

// validate returns an error if the settings cannot be used, those of the pool and the
// names of commands apart.
func (c Config) validate() error {
	if err := wire.CheckDialer(c.Dialer); err != nil {
		return err
	}
	if err := cmp.Or(
		setting.DurationOrNone("cluster: Config.RefreshEvery", c.RefreshEvery, engine.LeastRefreshEvery, 0, "never"),
		setting.DurationOrNone("cluster: Config.RetryWindow", c.RetryWindow, setting.Least, 0, "none"),
	); err != nil {
		return err
	}
	switch {
	case c.Sentinel == "":
		return nil
	case c.Standalone:
		return errors.New("cluster: Config.Standalone and Config.Sentinel are both set: leave one out")
	case c.SentinelDialer.Database != 0:
		return fmt.Errorf("cluster: Config.SentinelDialer.Database = %d: a Sentinel has no databases; set Config.Dialer.Database", c.SentinelDialer.Database)
	}
	if err := wire.CheckDialer(c.SentinelDialer); err != nil {
		return fmt.Errorf("cluster: Config.SentinelDialer: %w", err)
	}
	return nil
}
