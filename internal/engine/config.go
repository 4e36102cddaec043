package engine

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

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// Config is that of package cluster, whose fields have the documentation.
type Config struct {
	Pool         nodepool.Settings // valid
	Dialer       lanes.Dialer
	RefreshEvery time.Duration
	MaxRedirects int
	DownGrace    time.Duration
	Slow, Fast   []string
	AddrMap      func(addr string) string
	Zone         string
	ZoneOf       func(addr string) string
	Sentinel     *Sentinel
	Standalone   bool
	NoIdentity   bool
	Lazy         bool
	Trace        *redislanes.Trace
	TraceOneIn   int
	Logger       *slog.Logger
}

// WhileContextLasts is that of package cluster.
const WhileContextLasts time.Duration = math.MaxInt64

const (
	defaultRefreshEvery = 15 * time.Second
	leastRefreshEvery   = quickSpacing // each dials a connection and asks a server for all slots
	defaultMaxRedirects = 8
	mostRedirects       = 1 << 10
	mostTraceOneIn      = 1_000_000
	defaultDownGrace    = time.Second
)

func (c Config) withDefaults() Config {
	if c.RefreshEvery == 0 {
		c.RefreshEvery = defaultRefreshEvery
	}
	if c.MaxRedirects == 0 {
		c.MaxRedirects = defaultMaxRedirects
	}
	if c.DownGrace == 0 {
		c.DownGrace = defaultDownGrace
	}
	if c.TraceOneIn == 0 {
		c.TraceOneIn = 1
	}
	if c.AddrMap == nil {
		c.AddrMap = func(addr string) string { return addr }
	}
	if c.Sentinel != nil {
		own := *c.Sentinel
		own.Dialer = wire.Sealed(own.Dialer)
		c.Sentinel = &own
	}
	c.Logger = guard.Logger(c.Logger)
	return c
}

func (c Config) validate(addrs []string) error {
	if _, err := c.overrides(); err != nil {
		return err
	}
	if err := c.Dialer.Validate(); err != nil {
		return err
	}
	if 0 < c.RefreshEvery && c.RefreshEvery < leastRefreshEvery {
		return fmt.Errorf("cluster: Config.RefreshEvery = %v: must be at least %v, or negative for never", c.RefreshEvery, leastRefreshEvery)
	}
	if c.MaxRedirects > mostRedirects {
		return fmt.Errorf("cluster: Config.MaxRedirects = %d: must be at most %d", c.MaxRedirects, mostRedirects)
	}
	if c.TraceOneIn < 0 || c.TraceOneIn > mostTraceOneIn {
		return fmt.Errorf("cluster: Config.TraceOneIn = %d: must be 1 to %d, or 0 for 1", c.TraceOneIn, mostTraceOneIn)
	}
	if c.ZoneOf != nil && c.Zone == "" {
		return errors.New("cluster: Config.ZoneOf without Config.Zone: set the zone that this program runs in, or leave ZoneOf out")
	}
	if err := c.validateTopology(); err != nil {
		return err
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

func (c Config) validateTopology() error {
	s := c.Sentinel
	switch {
	case s == nil:
		return nil
	case c.Standalone:
		return errors.New("cluster: Config.Standalone besides Config.Sentinel: leave one of them out")
	case s.Primary == "":
		return errors.New("cluster: Config.Sentinel.Primary is empty: give the name that the Sentinels know the primary by")
	case s.Dialer.Database != 0:
		return fmt.Errorf("cluster: Config.Sentinel.Dialer.Database = %d: a Sentinel has no databases; set Config.Dialer.Database", s.Dialer.Database)
	}
	if err := s.Dialer.Validate(); err != nil {
		return fmt.Errorf("cluster: Config.Sentinel: %w", err)
	}
	return nil
}

func validAddr(addr string) error {
	if wire.IsPath(addr) {
		return nil
	}
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

// New is that of package cluster.
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
	if c.Lazy {
		client.tasks.Go(client.startLate)
		return client, nil
	}
	if err := client.start(ctx); err != nil {
		_ = client.Close()
		return nil, err
	}
	client.tasks.Go(client.keepFresh)
	return client, nil
}
