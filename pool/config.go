package pool

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
)

// Config is the settings of a pool: [Fixed], [Adaptive] or [Laned]. There are no others.
type Config interface {
	// settings returns what is set, or an error that names the field and the value.
	settings() (nodepool.Settings, error)
}

func init() { nodepool.Of = func(c any) (nodepool.Settings, error) { return settingsOf(c.(Config)) } }

func settingsOf(c Config) (nodepool.Settings, error) {
	if c == nil {
		return nodepool.Settings{}, errors.New("pool: the Config is nil: pass Fixed{}, Adaptive{} or Laned{}")
	}
	if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && v.IsNil() {
		return nodepool.Settings{}, fmt.Errorf("pool: the Config is a nil %T: pass Fixed{}, Adaptive{} or Laned{}", c)
	}
	return c.settings()
}

// Validate returns an error that names the field and the value if the settings
// cannot be used. cluster.Config.New and what [Custom] returns give the same error.
func Validate(c Config) error {
	_, err := settingsOf(c)
	return err
}

// Options are the settings that all kinds of pool have.
type Options struct {
	// MaxWaiters is how many batches may wait for a connection at a time; the
	// next one fails with redislanes.ErrExhausted. Default 4,096, at most 1,048,576.
	MaxWaiters int

	// FailFast makes batches fail with redislanes.ErrExhausted instead of waiting when
	// all connections are in use.
	FailFast bool

	// StallTimeout is how long the server may be silent on all connections
	// while batches are in flight. Then the connections are closed, except
	// dedicated ones, and batches fail with ErrDown until the server answers again.
	// Default 3 s, at least 16 ms. Time that the process itself spends frozen does not count.
	//
	// Nothing is sent to a silent server for so long: after a silence of 20 usual
	// round trips, but 250 ms at least and half of StallTimeout at most, the pool
	// asks it over a new connection, and without an answer in as long again the
	// server is suspect. Batches, also those that wait, then fail with ErrDown at
	// once, whose cause is ErrSuspect, and what is in flight stays. Any byte or
	// answer ends the suspicion. A server that answers elsewhere, as during a
	// graceful failover, is not suspect. A dial that gets no answer while callers
	// wait and no connection is left counts as silence, too.
	StallTimeout time.Duration

	// PauseTimeout is how long one connection may be silent while batches are
	// in flight on it and the server answers on others, as it does while a
	// graceful failover makes writers wait, for up to 5 s. Then the connection
	// is closed. Default 10 s, but not less than StallTimeout.
	//
	// A connection is in doubt long before that: after the first silence of
	// StallTimeout, or after 20 usual round trips and at least 50 ms if a caller has
	// given up on it, as at the end of its deadline. Until a byte arrives on it, it gets
	// no new batches and does not count for the size of the pool. What is in flight on it
	// stays. The pool pings idle connections that have not been heard since the silence
	// began, and nobody is given those either until they answer. If the server has not
	// been heard since, it is asked over a new connection, which takes the place of one
	// in doubt; batches wait for that. So a pool has up to twice its maximum of
	// connections. Those that are too many leave, when nothing is in flight on them, once
	// the silent ones are heard again. If all connections of a laned pool are in doubt,
	// and no more may be opened, all are used.
	PauseTimeout time.Duration

	// PingEvery is how long a connection is idle before it is sent a PING, which
	// counts as a batch in flight for StallTimeout and PauseTimeout. Default 10
	// s, at least 10 ms; negative for never.
	PingEvery time.Duration

	// MaxAge is how long a connection is used, less up to a tenth of it at random.
	// Then it gets no more batches and is closed when nothing is in flight on it, or,
	// if a user has it, when it is returned: no outcome becomes unknown by it. One
	// connection in ten, and at least one, leaves at a time, and the next ones when
	// these have been replaced; none does while the server cannot be dialled. It is
	// for services that cut connections after some hours, certificates and passwords
	// that change, and balancers. Default 0, for ever; at least a second.
	MaxAge time.Duration

	// MinBackoff and MaxBackoff bound the wait before the server is dialled
	// again after a failure: a random time up to MinBackoff doubled for each
	// failure in a row, but not over MaxBackoff, and 100 ms (or MinBackoff) while the server
	// answers that it runs a script or loads its data. Defaults 10 ms and 1 s, at least 1 ms.
	MinBackoff, MaxBackoff time.Duration

	// OnWait, if not nil, is told how long each batch, and each user of a dedicated
	// connection, waited for a connection, when the wait ends, served or not. Batches
	// and users that found one free are not among them. It is called without a lock
	// held, but by goroutines that others depend on: it must be quick and must
	// not block. It is called from many goroutines. A panic in it is logged.
	OnWait func(wait time.Duration)
}

// with adds the options to the settings.
func (o Options) with(s nodepool.Settings) nodepool.Settings {
	s.MaxWaiters, s.FailFast, s.OnWait = o.MaxWaiters, o.FailFast, o.OnWait
	s.StallTimeout, s.PauseTimeout, s.PingEvery, s.MaxAge = o.StallTimeout, o.PauseTimeout, o.PingEvery, o.MaxAge
	s.MinBackoff, s.MaxBackoff = o.MinBackoff, o.MaxBackoff
	return s
}
