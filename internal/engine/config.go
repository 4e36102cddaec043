package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/source"
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
	Source       source.Source // default: a cluster, by the Dialer
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
	if c.Source == nil {
		c.Source = source.Cluster{Nodes: source.Nodes{Dialer: c.Dialer}}
	}
	return c
}

func validAddrs(addrs []string) error {
	if len(addrs) == 0 {
		return fmt.Errorf("cluster: no address given: New needs at least one host:port")
	}
	for i, addr := range addrs {
		if err := wire.CheckAddr(addr); err != nil { // it may hold a password
			return fmt.Errorf("cluster: addrs[%d] cannot be used: %w", i, err)
		}
		if err := source.CheckAddr(addr); err != nil {
			return fmt.Errorf("cluster: addrs[%d] = %q: %w", i, addr, err)
		}
	}
	return nil
}

// New is that of package cluster, for settings that can be used.
func (c Config) New(ctx context.Context, addrs []string) (*Client, error) {
	if ctx == nil {
		return nil, errors.New("cluster: New: the context is nil, pass one such as context.Background()")
	}
	if ctx.Err() != nil && !c.Lazy {
		return nil, fmt.Errorf("cluster: New: the context had ended before New was called: %w", ctx.Err())
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
		if err := client.refresher.start(ctx); err != nil {
			_ = client.Close()
			return nil, err
		}
	}
	client.tasks.Go(client.refresher.keepFresh)
	return client, nil
}

// Overrides are what a client's settings say: which commands are slow, in upper
// case, whatever the default says.
type Overrides map[string]bool

// SlowOnly returns that the named commands are slow and no others, or an error about the name that
// is none. Without a list, the default holds.
func SlowOnly(names []string) (Overrides, error) {
	if names == nil {
		return nil, nil
	}
	o := make(Overrides)
	for _, name := range command.SlowNames() {
		o[name] = false
	}
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n|") {
			return nil, fmt.Errorf("cluster: Slow[%d] = %q: want the name of a command, such as HGETALL", i, name)
		}
		if name = strings.ToUpper(name); slices.Contains(command.SlowNames(), name) {
			delete(o, name) // MGET is slow with many keys
		} else {
			o[name] = true
		}
	}
	return o, nil
}
