package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// Config is what a client runs on. A field that is zero has its default. Package cluster
// makes it of the settings of a user, which it checks, and has the documentation.
type Config struct {
	Pool         nodepool.Settings
	Dialer       lanes.Dialer
	RefreshEvery time.Duration
	RetryWindow  time.Duration
	Slow         Overrides
	AddrMap      func(addr string) string
	Zone         string
	ZoneOf       func(addr string) string
	Sentinel     *lanes.Dialer // of the Sentinels that are asked for the primary; nil: none are
	Primary      string        // by the name that they know
	Standalone   bool
	NoIdentity   bool
	Lazy         bool
	Trace        *redislanes.Trace
	Logger       *slog.Logger
}

// WhileContextLasts is that of package cluster.
const WhileContextLasts = attempt.Forever

func (c Config) withDefaults() Config {
	if c.RefreshEvery == 0 {
		c.RefreshEvery = defaultRefreshEvery
	}
	if c.RetryWindow == 0 {
		c.RetryWindow = defaultRetryWindow
	}
	if c.Sentinel != nil {
		own := wire.Sealed(*c.Sentinel)
		c.Sentinel = &own
	}
	return c
}

func validAddrs(addrs []string) error {
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

// New is that of package cluster, for settings that can be used.
func (c Config) New(ctx context.Context, addrs []string) (*Client, error) {
	if ctx == nil {
		return nil, errors.New("cluster: New: the context is nil, pass one such as context.Background()")
	}
	addrs = slices.Clone(addrs)
	for i := range addrs {
		addrs[i] = strings.TrimSpace(addrs[i])
	}
	c = c.withDefaults()
	if err := validAddrs(addrs); err != nil {
		return nil, err
	}
	c.Dialer = wire.Sealed(c.Dialer)
	client := newClient(c, addrs)
	if !c.Lazy {
		if err := client.start(ctx); err != nil {
			_ = client.Close()
			return nil, err
		}
	}
	client.tasks.Go(client.keepFresh)
	return client, nil
}
