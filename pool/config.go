package pool

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// Config is the settings of a pool: [Fixed], [Adaptive] or [Laned].
type Config interface {
	// settings returns the settings with their defaults, or an error that
	// names the field and the value.
	settings() (settings, error)
}

// Options are the settings that all kinds of pool have.
type Options struct {
	// MaxWaiters is how many batches may wait for a connection at a time; the
	// next one fails with ErrExhausted. Default 4,096.
	MaxWaiters int

	// FailFast makes batches fail with ErrExhausted instead of waiting when
	// all connections are in use.
	FailFast bool

	// StallTimeout is how long the server may send nothing while batches are
	// in flight before the connection is closed, and with it the idle ones to
	// the same server. When the last one is gone, batches fail with ErrDown at
	// once. A lent connection is exempt. Default 3 s.
	StallTimeout time.Duration

	// PingEvery is how long a connection is idle before it is sent a PING; one
	// that gets no reply within StallTimeout is closed. Default 10 s; negative
	// for never.
	PingEvery time.Duration

	// MinBackoff and MaxBackoff bound the wait before the server is dialled
	// again after a failure: a random time up to MinBackoff doubled for each
	// failure in a row, but not over MaxBackoff. Defaults 10 ms and 1 s.
	MinBackoff, MaxBackoff time.Duration
}

const (
	defaultMaxWaiters   = 4096
	defaultStallTimeout = 3 * time.Second
	defaultPingEvery    = 10 * time.Second
	defaultMinBackoff   = 10 * time.Millisecond
	defaultMaxBackoff   = time.Second
)

func (o Options) withDefaults() Options {
	orDefault(&o.MaxWaiters, defaultMaxWaiters)
	orDefault(&o.StallTimeout, defaultStallTimeout)
	orDefault(&o.PingEvery, defaultPingEvery)
	orDefault(&o.MinBackoff, defaultMinBackoff)
	orDefault(&o.MaxBackoff, max(defaultMaxBackoff, o.MinBackoff))
	return o
}

func (o Options) validate(kind string) error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"StallTimeout", o.StallTimeout}, {"MinBackoff", o.MinBackoff}, {"MaxBackoff", o.MaxBackoff}} {
		if f.value < 0 {
			return fmt.Errorf("pool: %s.%s = %v: must not be negative", kind, f.name, f.value)
		}
	}
	if o.MinBackoff > o.MaxBackoff {
		return fmt.Errorf("pool: %s.MinBackoff = %v is more than MaxBackoff = %v", kind, o.MinBackoff, o.MaxBackoff)
	}
	return notNegative(kind, "MaxWaiters", o.MaxWaiters)
}

// settings is what a Pool runs on.
type settings struct {
	Options
	kind        string
	min, max    int           // connections
	idleTimeout time.Duration // after which those above min are closed; 0: never
	maxInFlight int           // batches on one connection

	shared   bool
	strategy lanes.Strategy
	maxLent  int
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func notNegative(kind, field string, value int) error {
	if value < 0 {
		return fmt.Errorf("pool: %s.%s = %d: must not be negative", kind, field, value)
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
	_, err := c.settings()
	return err
}
