package pool

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// Config is the settings of a pool: [Fixed], [Adaptive] or [Laned].
type Config interface {
	// settings returns the settings with their defaults, or an error that
	// names the field and the value.
	settings() (settings, error)

	// inCluster returns the Config with its size, unless it is set, as it should
	// be for each node of a cluster.
	inCluster() Config
}

// InCluster returns the settings with the default size for each node of a
// cluster, [DefaultSize], if they set none. Without it, a size that is not set
// is that for a server that stands alone, [DefaultSingleSize]. Packages that make
// pools for the nodes of a cluster call it; cluster and [Custom] do.
func InCluster(c Config) Config {
	if c == nil {
		return nil // which New refuses
	}
	return c.inCluster()
}

// Options are the settings that all kinds of pool have.
type Options struct {
	// MaxWaiters is how many batches may wait for a connection at a time; the
	// next one fails with ErrExhausted. Default 4,096, at most 1,048,576.
	MaxWaiters int

	// FailFast makes batches fail with ErrExhausted instead of waiting when
	// all connections are in use.
	FailFast bool

	// StallTimeout is how long the server may be silent on all connections
	// while batches are in flight. Then the connections are closed, but for
	// lent ones, and batches fail with ErrDown until the server answers again.
	// Default 3 s, at least 16 ms. Time that the process itself spends frozen does not count.
	//
	// Nothing is sent to a silent server for so long: after a silence of 20 usual
	// round trips, but 250 ms at least and half of StallTimeout at most, the pool
	// asks it over a new connection, and without an answer in as long again the
	// server is suspect. Batches, also those that wait, then fail with ErrDown at
	// once, whose cause is ErrSuspect, and what is in flight stays. Any byte or
	// answer ends the suspicion. A server that answers elsewhere, as during a
	// graceful failover, is not suspect. A dial that gets no answer while callers
	// wait and no connection is left counts as silence, too. Of a laned pool, a
	// connection that has been silent for that first time gets no more batches,
	// unless all are.
	StallTimeout time.Duration

	// PauseTimeout is how long one connection may be silent while batches are
	// in flight on it and the server answers on others, as it does while a
	// graceful failover makes writers wait, for up to 5 s. Then the connection
	// is closed. Default 10 s, but not less than StallTimeout.
	PauseTimeout time.Duration

	// PingEvery is how long a connection is idle before it is sent a PING, which
	// counts as a batch in flight for StallTimeout and PauseTimeout. Default 10
	// s; negative for never.
	PingEvery time.Duration

	// MinBackoff and MaxBackoff bound the wait before the server is dialled
	// again after a failure: a random time up to MinBackoff doubled for each
	// failure in a row, but not over MaxBackoff. Defaults 10 ms and 1 s.
	MinBackoff, MaxBackoff time.Duration

	// OnWait, if not nil, is told how long each batch and each user who wants to
	// be lent a connection waited for one, when the wait ends, served or not.
	// Those that found one free are not among them. It is called without a lock
	// held, but by goroutines that others depend on: it must be quick and must
	// not block. It is called from many goroutines. A panic in it is logged.
	OnWait func(wait time.Duration)
}

const (
	defaultMaxWaiters   = 4096
	defaultStallTimeout = 3 * time.Second
	defaultPauseTimeout = 10 * time.Second
	defaultPingEvery    = 10 * time.Second
	defaultMinBackoff   = 10 * time.Millisecond
	defaultMaxBackoff   = time.Second
)

// What is more than this is a mistake. A server has 65,535 ports for the
// connections from one address; the set of lanes is copied when one joins.
const (
	mostConnections = 1 << 16 // 65,536
	mostLanes       = 1 << 10 // 1,024
	mostWaiters     = 1 << 20 // 1,048,576
	mostInFlight    = 1 << 20
)

// leastStallTimeout is the shortest one in whose halves a pool that looks each
// millisecond looks often enough (see lookEvery).
const leastStallTimeout = 2 * looksInSilence * time.Millisecond // 16 ms

func (o Options) withDefaults() Options {
	orDefault(&o.MaxWaiters, defaultMaxWaiters)
	orDefault(&o.StallTimeout, defaultStallTimeout)
	orDefault(&o.PauseTimeout, max(defaultPauseTimeout, o.StallTimeout))
	orDefault(&o.PingEvery, defaultPingEvery)
	orDefault(&o.MinBackoff, defaultMinBackoff)
	orDefault(&o.MaxBackoff, max(defaultMaxBackoff, o.MinBackoff))
	return o
}

func (o Options) validate(kind string) error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"StallTimeout", o.StallTimeout}, {"PauseTimeout", o.PauseTimeout}, {"MinBackoff", o.MinBackoff}, {"MaxBackoff", o.MaxBackoff}} {
		if f.value < 0 {
			return fmt.Errorf("pool: %s.%s = %v: must not be negative", kind, f.name, f.value)
		}
	}
	if o.StallTimeout < leastStallTimeout {
		return fmt.Errorf("pool: %s.StallTimeout = %v: must be at least %v, or a healthy server's pauses count as stalls", kind, o.StallTimeout, leastStallTimeout)
	}
	if o.PauseTimeout < o.StallTimeout {
		return fmt.Errorf("pool: %s.PauseTimeout = %v is less than StallTimeout = %v", kind, o.PauseTimeout, o.StallTimeout)
	}
	if o.MinBackoff > o.MaxBackoff {
		return fmt.Errorf("pool: %s.MinBackoff = %v is more than MaxBackoff = %v", kind, o.MinBackoff, o.MaxBackoff)
	}
	return inRange(kind, "MaxWaiters", o.MaxWaiters, mostWaiters)
}

// settings is what a Pool runs on.
type settings struct {
	Options
	kind        string
	min, max    int           // connections
	idleTimeout time.Duration // how long the load must be low for the pool to shrink
	maxInFlight int           // batches on one connection
	maxQueued   int           // bytes that wait to be written on one shared connection

	shared    bool
	strategy  lanes.Strategy
	maxLent   int
	slowLanes int // for batches that are marked as slow; 0: they travel with the others
}

// WithOnWait returns the settings with onWait told besides their own
// [Options.OnWait]. It is for those who make pools by settings of others.
func WithOnWait(c Config, onWait func(wait time.Duration)) Config { return watched{c, onWait} }

type watched struct {
	Config
	onWait func(wait time.Duration)
}

func (w watched) settings() (settings, error) {
	s, err := w.Config.settings()
	if own := s.OnWait; own != nil {
		s.OnWait = func(wait time.Duration) { own(wait); w.onWait(wait) }
	} else {
		s.OnWait = w.onWait
	}
	return s, err
}

func (w watched) inCluster() Config { return watched{w.Config.inCluster(), w.onWait} }

// Kind returns the kind of the pools with these settings, as in Stats.Kind.
func Kind(c Config) string {
	s, _ := c.settings()
	return s.kind
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func inRange(kind, field string, value, most int) error {
	switch {
	case value < 0:
		return fmt.Errorf("pool: %s.%s = %d: must not be negative", kind, field, value)
	case value > most:
		return fmt.Errorf("pool: %s.%s = %d: must be at most %d", kind, field, value, most)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Validate returns an error that names the field and the value if the settings
// cannot be used.
func Validate(c Config) error {
	if c == nil {
		return errors.New("pool: the Config is nil: pass Fixed{}, Adaptive{} or Laned{}")
	}
	_, err := c.settings()
	return err
}
