package envoydriver

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// Options are the settings of a Client, most of them variables of the service.
type Options struct {
	Type         string        // REDIS_TYPE: SINGLE, CLUSTER or SENTINEL
	SocketType   string        // REDIS_SOCKET_TYPE: tcp, the default, or unix for the path of a socket
	URL          string        // REDIS_URL: host:port; several with commas; for SENTINEL behind name and comma
	Auth         string        // REDIS_AUTH: user:password, or a password
	SentinelAuth string        // REDIS_SENTINEL_AUTH: likewise
	TLS          *tls.Config   // to servers and Sentinels; default none
	PoolSize     int           // REDIS_POOL_SIZE: the most shared connections to each server; default 4
	Timeout      time.Duration // REDIS_TIMEOUT: of connecting, and of each call; default 10 s
	Startup      *Startup      // how New tries again; default nil: it tries once
	Logger       *slog.Logger  // see cluster.Config, and each failed try of New; default none

	// Health, if not nil, is called with true when the first connection is open, and with false
	// when the last one has closed. Conns is called for each connection that is opened (change
	// 1) or closed (-1), with the number that are open now. Calls never overlap.
	Health func(healthy bool)
	Conns  func(open, change int)
}

func (o Options) config() (c cluster.Config, addrs []string, err error) {
	switch kind := strings.ToUpper(o.Type); {
	case o.SocketType != "" && !strings.EqualFold(o.SocketType, "tcp"):
		if addrs = []string{o.URL}; !strings.EqualFold(o.SocketType, "unix") || kind != "SINGLE" || !strings.HasPrefix(o.URL, "/") {
			err = fmt.Errorf("Options.SocketType = %q: want tcp; or unix, the type SINGLE and the absolute path of a socket as URL", o.SocketType)
		}
	case kind == "SENTINEL":
		name, list, _ := strings.Cut(o.URL, ",")
		if c, addrs, err = cluster.ParseURL("redis-sentinel://" + list + "?master_name=" + url.QueryEscape(name)); err != nil {
			err = fmt.Errorf("Options.URL: want name,host:port,host:port for the type SENTINEL: %w", err)
		}
	case kind == "SINGLE" || kind == "CLUSTER":
		if c, addrs, err = cluster.ParseURL(o.URL); err == nil && kind == "SINGLE" && len(addrs) > 1 {
			err = fmt.Errorf("Options.URL has %d addresses: want one for the type SINGLE", len(addrs))
		}
	default:
		err = fmt.Errorf("Options.Type = %q: want SINGLE, CLUSTER or SENTINEL", o.Type)
	}
	c.Dialer = o.dialer(c.Dialer, o.Auth)
	c.SentinelDialer = o.dialer(c.SentinelDialer, o.SentinelAuth)
	c.Pool, c.Logger = pool.Laned{Lanes: o.PoolSize}, o.Logger
	return c, addrs, cmp.Or(err, o.Startup.validate(), o.validate(c))
}

// validate returns an error if New would try again for ever: settings stay as they are.
func (o Options) validate(c cluster.Config) error {
	if err := (cluster.Config{Pool: c.Pool}).Validate(); err != nil {
		return fmt.Errorf("Options.PoolSize: %w", err)
	}
	if c.Sentinel != "" {
		if err := (cluster.Config{Dialer: c.SentinelDialer}).Validate(); err != nil {
			return fmt.Errorf("Options.SentinelAuth: %w", err)
		}
	}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("Options.Timeout or Auth: %w", err)
	}
	return nil
}

func (o Options) dialer(d lanes.Dialer, auth string) lanes.Dialer {
	d.Timeout = cmp.Or(o.Timeout, d.Timeout, 10*time.Second)
	d.TLS = cmp.Or(o.TLS, d.TLS)
	if user, password, ok := strings.Cut(auth, ":"); ok {
		d.Username, d.Password = user, password
	} else if auth != "" {
		d.Username, d.Password = "", auth
	}
	return d
}

// A Startup is how New waits for servers that refuse connections or do not answer. It also repeats
// other errors, such as a wrong password. The zero value tries until the context ends. Settings that
// cannot be used are an error at once.
type Startup struct {
	InitialInterval time.Duration // REDIS_STARTUP_INITIAL_INTERVAL: the longest first wait, doubled after each try; default 100 ms
	MaxInterval     time.Duration // REDIS_STARTUP_MAX_INTERVAL: the longest wait of all; default 10 s
	MaxElapsedTime  time.Duration // REDIS_STARTUP_MAX_ELAPSED_TIME: a try that fails later is the last; default no limit
}

func (s *Startup) validate() error {
	if s == nil || min(s.InitialInterval, s.MaxInterval, s.MaxElapsedTime) >= 0 {
		return nil
	}
	return fmt.Errorf("Options.Startup = %+v: must not be negative", *s)
}

// retry calls connect until it succeeds, the context ends or the time is over. It calls
// connect once if s is nil. Each wait is between half of its interval and all of it.
func (s *Startup) retry(ctx context.Context, logger *slog.Logger, connect func() error) error {
	err := connect()
	if s == nil {
		return err
	}
	began, longest := time.Now(), cmp.Or(s.MaxInterval, 10*time.Second)
	interval := min(cmp.Or(s.InitialInterval, 100*time.Millisecond), longest)
	for err != nil && (s.MaxElapsedTime == 0 || time.Since(began) < s.MaxElapsedTime) {
		wait := interval/2 + rand.N(interval/2+1)
		logger.WarnContext(ctx, "envoydriver: no connection to Redis, trying again", "in", wait, "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("envoydriver: startup ended: %w; the last try: %w", context.Cause(ctx), err)
		case <-time.After(wait):
		}
		err = connect()
		interval = min(2*interval, longest)
	}
	return err
}
