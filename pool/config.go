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
	// MaxWaiters is how many batches may wait for a connection. Further ones fail with
	// redislanes.ErrExhausted. Default 65,536, at most 1,048,576. Negative: none waits for a
	// connection that another one uses.
	MaxWaiters int

	// StallTimeout is how long the server may be silent on all connections while batches are
	// in flight. Then the pool closes the connections, except dedicated ones on which no reply is
	// due, and batches fail with redislanes.ErrDown until the server answers again.
	// Default 3 s, at least 16 ms. Time during which the process itself is frozen does not count.
	//
	// A silence begins when a reply is due. For a command that blocks, such as BLPOP, that is
	// when its own timeout has passed. Two kinds of commands end only with their contexts: those
	// that block without a timeout, and on a dedicated connection those that the client does not
	// know.
	//
	// The pool stops sending long before that:
	//
	//   - After an unusual silence it asks the server over a new connection. A silence is
	//     unusual after 20 usual round trips: at least 250 ms, at most half of StallTimeout.
	//   - Without an answer in as long again the server is suspect. If it usually takes long to
	//     connect, as with a slow DNS, the pool waits twice that time for the answer. Batches,
	//     including those that wait, fail with ErrDown at once. Batches in flight stay.
	//   - Any byte or answer ends the suspicion.
	//
	// A server that answers on another connection is not suspect, as in a graceful failover.
	// If no connection is left and callers wait, an unanswered dial counts as a silence of the
	// server.
	StallTimeout time.Duration

	// PauseTimeout is how long one connection may be silent while batches are in flight on it
	// and the server answers on others. Then the pool closes it, also if it is dedicated. A
	// graceful failover makes writers wait in this way, for up to 5 s. Default 10 s, but not
	// less than StallTimeout.
	//
	// A silent connection is in doubt long before that: after an unusual silence (see
	// StallTimeout), or, if a caller has given up on it, after 20 usual round trips and at
	// least 50 ms. Then, until a byte arrives on it:
	//
	//   - It gets no new batches. Batches in flight on it stay.
	//   - It does not count for the size of the pool, which may open another connection in its
	//     place. So a pool has up to twice its maximum of connections. The surplus leaves once
	//     the silent connections are heard again.
	//   - The pool pings the idle connections that it has not heard since the silence began.
	//     They get no batches until they answer.
	//
	// If all lanes are in doubt and no more may be opened, all are used.
	PauseTimeout time.Duration

	// A connection gets no more batches once it is MaxAge old, minus a random time of up to a
	// tenth. The pool closes it when nothing is in flight on it, or when its user has returned
	// it. No command gets an unknown outcome by that. One connection
	// leaves at a time, and none while the server cannot be dialled. Use it
	// for servers and balancers that cut old connections, and for certificates, passwords and
	// tokens that change. Default 0, which means no limit; at least 1 s.
	MaxAge time.Duration
}

// with adds the options to the settings.
func (o Options) with(s nodepool.Settings) nodepool.Settings {
	s.MaxWaiters, s.FailFast = max(0, o.MaxWaiters), o.MaxWaiters < 0
	s.StallTimeout, s.PauseTimeout, s.MaxAge = o.StallTimeout, o.PauseTimeout, o.MaxAge
	return s
}
