package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
	"github.com/redislanes/redislanes/limit"
)

// settings is what the flags and the environment say. Each flag has a variable:
// RATELIMIT_ and its name in capitals, with underscores. A number that is 0 is left to
// the library.
type settings struct {
	Listen listenSettings `embed:"" group:"Listeners"`
	Rules  rulesSettings  `embed:"" group:"Rules"`
	Limit  limitSettings  `embed:"" group:"Limits"`
	Quota  quotaSettings  `embed:"" group:"Quotas"`
	Shed   shedSettings   `embed:"" group:"Load shedding"`
	Redis  redisSettings  `embed:"" group:"Redis"`
	TLS    tlsSettings    `embed:"" group:"TLS to Redis"`

	Cluster clusterSettings `embed:"" group:"Cluster"`
	Pool    poolSettings    `embed:"" group:"Connections to each node"`
	Log     logSettings     `embed:"" group:"Log"`
}

type listenSettings struct {
	service.ServerConfig `embed:""`

	MaxMessage      int  `name:"max-message" default:"262144" help:"Bytes of a request, at most. Reports of quotas may have 4 MiB."`
	ReadyNeedsRedis bool `name:"ready-needs-redis" help:"Not ready while a node of Redis cannot be asked. By default the service is: limits fail open or closed, and a failure of Redis takes no instance out of balancing."`
}

type rulesSettings struct {
	Path   string `name:"rules" placeholder:"PATH" help:"File of rules, or folder of such files; read again when they change. Without it, the rules in the program, for the domain shop."`
	Shadow bool   `name:"shadow" help:"Deny nothing: all limits decide as if their rules had shadow_mode."`
}

// limitOf returns what makes the limits.
func (s *settings) limitOf(l *limit.Limiter) func(limit.Rule) (*limit.Limit, error) {
	return func(rule limit.Rule) (*limit.Limit, error) {
		rule.Shadow, rule.NoLease = rule.Shadow || s.Rules.Shadow, !s.Limit.Leases
		return rule.New(l)
	}
}

type limitSettings struct {
	Prefix     string        `name:"prefix" default:"limit:" help:"What all keys begin with."`
	Budget     time.Duration `name:"budget" default:"100ms" help:"How long Redis may take to decide; then limits fail open or closed."`
	NearCache  int           `name:"near-cache" default:"50000" help:"How many keys are remembered, with what Redis has said last and their leases; -1 does not deny by it."`
	Leases     bool          `name:"leases" default:"true" negatable:"" help:"Reserve hits on keys that are hit often, and decide about them without Redis."`
	Instances  int           `name:"instances" default:"0" help:"How many instances of the service there are, if each is to allow its share while Redis cannot decide; 0 to fail open or closed."`
	ServerTime bool          `name:"server-time" help:"Number windows by the clocks of the Redis servers, for instances whose clocks differ."`
}

func (l *limitSettings) config() limit.Config {
	return limit.Config{Prefix: l.Prefix, Budget: l.Budget, NearCache: l.NearCache, Instances: l.Instances, ServerTime: l.ServerTime}
}

type quotaSettings struct {
	TTL      time.Duration `name:"quota-ttl" default:"10s" help:"Time to live of assignments of the rate limit quota service, in whole seconds."`
	Delivery time.Duration `name:"quota-delivery" default:"500ms" help:"How long an assignment takes to reach its client, at most."`
}

type shedSettings struct {
	On                 bool `name:"shed" help:"Refuse requests at once while too many wait for Redis. The number that may wait follows the round-trip times."`
	service.ShedConfig `embed:""`
}

// logSettings say what is logged, and how.
type logSettings struct {
	Level  slog.Level `name:"log-level" default:"info" help:"Least level that is logged: debug, info, warn or error."`
	Format string     `name:"log-format" enum:"text,json" default:"text" help:"Form of the log, which goes to the standard error: text or json."`
}

func (l *logSettings) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

const description = "A rate limit service on a Redis Cluster, with Envoy's gRPC interface and HTTP. " +
	"Each flag has a variable of the environment, which counts if the flag is not there. " +
	"The password of Redis is in RATELIMIT_PASSWORD, or in a file."

// parse reads the flags and the environment.
func parse(args []string, stdout io.Writer) (*settings, error) {
	s := new(settings)
	_, err := flags.Parse(s, args, stdout, kong.Name("ratelimit"), kong.Description(description), kong.DefaultEnvars("RATELIMIT"))
	return s, err
}

// Validate finds values that cannot be used before anything is opened.
func (s *settings) Validate() error {
	errs := []error{
		atLeast("max-message", s.Listen.MaxMessage, 1024),
		atLeast("grpc-max-connection-age", s.Listen.MaxConnectionAge, 0),
		atLeast("drain-delay", s.Listen.DrainDelay, 0),
		atLeast("shutdown-timeout", s.Listen.ShutdownTimeout, time.Millisecond),
		atLeast("connect-timeout", s.Redis.ConnectTimeout, time.Millisecond),
		s.checkTogether(), s.Quota.check(), s.Shed.check(), s.TLS.check(),
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, _, err := s.config()
	return err
}

// checkTogether finds settings that do not fit together, or have no effect.
func (s *settings) checkTogether() error {
	var errs []error
	if s.Redis.Addrs == "" && (s.Redis.Username != "" || s.Redis.PasswordFile != "" || s.TLS.On || os.Getenv(passwordVariable) != "") {
		errs = append(errs, fmt.Errorf("--username, --password-file, %s and --tls need --addrs: the emulated cluster has neither password nor TLS", passwordVariable))
	}
	if most := min(s.Listen.ShutdownTimeout, service.HTTPWriteTimeout); s.Limit.Budget >= most {
		errs = append(errs, fmt.Errorf("--budget = %v: must be less than %v, the lower of --shutdown-timeout and the time for writing a response", s.Limit.Budget, most))
	}
	if before, after, open := strings.Cut(s.Limit.Prefix, "{"); open && !strings.Contains(after, "}") {
		errs = append(errs, fmt.Errorf("--prefix: the brace after %q is not closed: text of requests would choose the slots of keys", before))
	}
	return errors.Join(errs...)
}

func (q *quotaSettings) check() error {
	var errs []error
	if q.TTL < time.Second || q.TTL%time.Second != 0 {
		errs = append(errs, fmt.Errorf("--quota-ttl = %v: must be whole seconds, at least 1", q.TTL))
	}
	if q.Delivery < 10*time.Millisecond || q.Delivery > q.TTL/2 {
		errs = append(errs, fmt.Errorf("--quota-delivery = %v: must be at least 10ms, and at most half of --quota-ttl", q.Delivery))
	}
	return errors.Join(errs...)
}

func (s *shedSettings) check() error {
	if !s.On && s.ShedConfig != (service.ShedConfig{Min: 64, Max: 10_000, Initial: 256}) {
		return errors.New("--shed-min, --shed-initial and --shed-max need --shed")
	}
	if s.Min < 1 || s.Initial < s.Min || s.Max < s.Initial {
		return fmt.Errorf("--shed-min = %d, --shed-initial = %d, --shed-max = %d: must be at least 1, and in this order", s.Min, s.Initial, s.Max)
	}
	return nil
}

func atLeast[N int | time.Duration](flag string, value, least N) error {
	if value < least {
		return fmt.Errorf("--%s = %v: must be at least %v", flag, value, least)
	}
	return nil
}

// config returns the settings of the client, and the addresses.
func (s *settings) config() (c cluster.Config, addrs []string, err error) {
	if c, addrs, err = s.Redis.config(); err != nil {
		return c, nil, err
	}
	if s.TLS.On {
		if c.Dialer.TLS, err = s.TLS.config(); err != nil {
			return c, nil, err
		}
		if c.SentinelDialer.TLS != nil { // by the URL
			c.SentinelDialer.TLS = c.Dialer.TLS
		}
	}
	s.Cluster.config(&c)
	c.Pool = s.Pool.config()
	return c, addrs, c.Validate()
}
