package nodepool

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redislanes/redislanes"
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

// Of returns the settings that a configuration of package pool stands for; nil for
// nil. Those of a nil pointer cannot be used.
func Of(c interface{ Settings() Config }) Config {
	if c == nil {
		return nil
	}
	if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && v.IsNil() {
		return unusable{fmt.Errorf("pool: the Config is a nil %T: pass Fixed{}, Adaptive{} or Laned{}", c)}
	}
	return c.Settings()
}

// unusable are settings that cannot be used.
type unusable struct{ why error }

func (u unusable) settings() (settings, error) { return settings{}, u.why }
func (u unusable) inCluster() Config           { return u }

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

// Options are those of package pool, whose fields have the documentation.
type Options struct {
	MaxWaiters             int
	FailFast               bool
	StallTimeout           time.Duration
	PauseTimeout           time.Duration
	PingEvery              time.Duration
	MaxAge                 time.Duration
	MinBackoff, MaxBackoff time.Duration
	OnWait                 func(wait time.Duration)
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

// leastAge is the least MaxAge: a connection that lives for less costs more than it is
// used.
const leastAge = time.Second

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
	}{{"StallTimeout", o.StallTimeout}, {"PauseTimeout", o.PauseTimeout}, {"MinBackoff", o.MinBackoff}, {"MaxBackoff", o.MaxBackoff}, {"MaxAge", o.MaxAge}} {
		if f.value < 0 {
			return fmt.Errorf("pool: %s.%s = %v: must not be negative", kind, f.name, f.value)
		}
	}
	if o.StallTimeout < leastStallTimeout {
		return fmt.Errorf("pool: %s.StallTimeout = %v: must be at least %v, or a healthy server's pauses count as stalls", kind, o.StallTimeout, leastStallTimeout)
	}
	if o.MaxAge > 0 && o.MaxAge < leastAge {
		return fmt.Errorf("pool: %s.MaxAge = %v: must be at least %v, or 0 for none", kind, o.MaxAge, leastAge)
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

	trace *redislanes.Trace    // nil: nobody is told
	info  *redislanes.PoolInfo // what it is given
}

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
