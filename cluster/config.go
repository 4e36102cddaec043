package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// Config is the settings of a [Client]. The zero value works: laned pools,
// plain TCP, no password.
type Config struct {
	// Pool is the kind and size of the pool for each node: pool.Fixed,
	// pool.Adaptive or pool.Laned. Default pool.Laned{}. A size that is not set is
	// 50 in a cluster, and 10 if New finds a server without cluster mode.
	Pool pool.Config

	// Dialer makes the connections.
	Dialer lanes.Dialer

	// RefreshEvery is how often the map of the slots is fetched even if
	// nothing hints at a change. Default 15 s, at least 50 ms, which is as fast as
	// hints are followed; negative for never.
	RefreshEvery time.Duration

	// MaxRedirects is how many MOVED and ASK one request follows before the
	// server's reply stands. Default 8, at most 1,024; negative for none.
	MaxRedirects int

	// DownGrace is how long commands that did not run are sent again, with
	// backoff and full jitter and within the context: those that were not sent,
	// those that the server refused for now (TRYAGAIN, CLUSTERDOWN, LOADING,
	// MASTERDOWN, READONLY, NOREPLICAS), and those whose slot no node serves. It
	// counts from the beginning of the trouble, of a node or of a slot, and not
	// from that of the call: from then on each call tries once and fails at once,
	// until a command succeeds there or the slots have moved. A node that is
	// silent, rather than that it refuses connections, is in trouble since it fell
	// silent, and is noticed half a second later (redislanes.ErrSuspect): from then on
	// calls that have less time left than the grace do not wait for it either.
	// Default 1 s, in which a failover may happen; [WhileContextLasts] for calls
	// that would rather wait; negative for none.
	DownGrace time.Duration

	// Slow names commands that are slow besides the [SlowCommands], and Fast
	// those of them that are not, in upper or lower case; a command in both
	// lists is slow. Fast: cluster.SlowCommands() replaces the default by Slow. In
	// a laned pool that has lanes for slow commands (pool.Laned.SlowLanes), slow
	// ones do not delay the others; elsewhere nothing depends on it. Commands of
	// a name in Slow are slow with any arguments.
	//
	// Scripts are slow by default. A service whose scripts are short takes them
	// off: Fast: []string{"EVAL", "EVALSHA"}.
	Slow, Fast []string

	// AddrMap, if not nil, translates each address (host:port) that a server
	// names, for clusters behind NAT.
	AddrMap func(addr string) string

	// Observer, if not nil, is told how long requests take and how long they wait
	// for connections, such as metrics.NewObserver(). Without one, no request is
	// timed.
	Observer Observer

	// Logger gets warnings and debug messages; default none.
	Logger *slog.Logger
}

// WhileContextLasts is a [Config.DownGrace] without an end: calls try again until
// they succeed or their context ends. Give them one with a deadline.
const WhileContextLasts time.Duration = math.MaxInt64

const (
	defaultRefreshEvery = 15 * time.Second
	leastRefreshEvery   = quickSpacing // each dials a connection and asks a server for all slots
	defaultMaxRedirects = 8
	mostRedirects       = 1 << 10
	defaultDownGrace    = time.Second
)

func (c Config) withDefaults() Config {
	if c.Pool == nil {
		c.Pool = pool.Laned{}
	}
	if c.RefreshEvery == 0 {
		c.RefreshEvery = defaultRefreshEvery
	}
	if c.MaxRedirects == 0 {
		c.MaxRedirects = defaultMaxRedirects
	}
	if c.DownGrace == 0 {
		c.DownGrace = defaultDownGrace
	}
	if c.AddrMap == nil {
		c.AddrMap = func(addr string) string { return addr }
	}
	c.Logger = guard.Logger(c.Logger)
	return c
}

func (c Config) validate(addrs []string) error {
	if _, err := c.overrides(); err != nil {
		return err
	}
	if err := pool.Validate(c.Pool); err != nil {
		return err
	}
	if err := c.Dialer.Validate(); err != nil {
		return err
	}
	if c.Dialer.Member != nil {
		return fmt.Errorf("cluster: Config.Dialer.Member is set: the client sets it itself")
	}
	if 0 < c.RefreshEvery && c.RefreshEvery < leastRefreshEvery {
		return fmt.Errorf("cluster: Config.RefreshEvery = %v: must be at least %v, or negative for never", c.RefreshEvery, leastRefreshEvery)
	}
	if c.MaxRedirects > mostRedirects {
		return fmt.Errorf("cluster: Config.MaxRedirects = %d: must be at most %d", c.MaxRedirects, mostRedirects)
	}
	if len(addrs) == 0 {
		return fmt.Errorf("cluster: no address given: New needs at least one host:port")
	}
	for i, addr := range addrs {
		if err := wire.CheckAddr(addr); err != nil {
			return fmt.Errorf("cluster: addrs[%d] cannot be used: %w", i, err)
		}
		if err := validAddr(addr); err != nil {
			return fmt.Errorf("cluster: addrs[%d] = %q: %w", i, addr, err)
		}
	}
	return nil
}

func validAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	var wrong *net.AddrError
	switch n, bad := strconv.ParseUint(port, 10, 16); {
	case errors.As(err, &wrong):
		return fmt.Errorf("want host:port: %s", wrong.Err)
	case err != nil:
		return fmt.Errorf("want host:port: %w", err)
	case strings.ContainsFunc(addr, unicode.IsSpace):
		return errors.New("want host:port: there is a blank in it")
	case bad != nil || n == 0:
		return fmt.Errorf("port %q: want a number from 1 to 65535", port)
	case host == "":
		return errors.New("want host:port: the host is empty")
	}
	return nil
}

// New connects to the first of the addresses (host:port, blanks around it are
// ignored) that answers, learns the cluster's nodes and slots from it, and
// returns a client. The context bounds only this. While a server is loading its
// data or has too many clients, and none gives a map of the slots, New asks again
// until the context ends.
//
// Of several servers without cluster mode the first that answers is used, and
// another one, which has other data, only once it does not answer at all. Then
// that one stays, also if the first comes back: to go to and fro would mix their
// data.
//
// Settings that cannot be used are errors that name the field and the value; if
// no address gives a map, the error is, or wraps, an [redislanes.UnreachableError] with
// each address and its cause.
func (c Config) New(ctx context.Context, addrs []string) (*Client, error) {
	if ctx == nil {
		return nil, fmt.Errorf("cluster: New: %w", errNilContext)
	}
	addrs = slices.Clone(addrs)
	for i := range addrs {
		addrs[i] = strings.TrimSpace(addrs[i])
	}
	c = c.withDefaults()
	if err := c.validate(addrs); err != nil {
		return nil, err
	}
	c.Dialer = wire.Sealed(c.Dialer)
	client := newClient(c, addrs)
	if err := client.start(ctx); err != nil {
		_ = client.Close()
		return nil, err
	}
	client.tasks.Go(client.keepFresh)
	return client, nil
}
