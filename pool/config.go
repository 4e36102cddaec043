package pool

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/setting"
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

// Options are the settings that all kinds of pool have.
type Options struct {
	// MaxWaiters is how many batches may wait for a connection. Further ones fail with
	// redislanes.ErrExhausted. Default 65,536, at most 1,048,576. Negative: none waits for a
	// connection that another one uses.
	MaxWaiters int

	// SuspectAfter is how long the server may be silent before the pool asks it over a new connection,
	// and by a PING on idle ones. Default 0.5 s, or StallTimeout if that is less; at least 10 ms. If
	// eight usual reply times are longer, they count in its place. Without an answer in as long again
	// the server is suspect: batches, including those that wait, fail with redislanes.ErrDown at once,
	// and those in flight stay. Any byte or answer ends that, but for bytes on lanes for slow commands.
	// A server that answers is asked again when the silence is twice as long.
	//
	// A silence begins when a reply is due, or when callers wait for a dial with no connection left. The
	// reply to a command that blocks, such as BLPOP, is due when its own timeout has passed. It never
	// is if there is no timeout, nor on a dedicated connection for a command that the client does not
	// know.
	SuspectAfter time.Duration

	// StallTimeout is how long a suspect server may be silent before the pool closes its connections.
	// Default 3 s, at least SuspectAfter. Dedicated connections on which no reply is due stay open.
	// Batches fail with redislanes.ErrDown until the server answers again.
	//
	// It is also how long a connection may be slow while the others are not. A connection is slow if
	// its usual reply time, or the age of its oldest batch, is more than four times the reply time
	// of the best one and more than 5 ms. A slow connection gets no batches, but a PING to see whether
	// it is still slow. After StallTimeout the pool closes it when nothing is in flight on it, or 10 s
	// later, and another one takes its place. Connections for slow commands and dedicated ones are
	// not compared.
	//
	// A connection on which a reply is due and no byte arrives for 10 s, or for StallTimeout if that is
	// more, is closed although the server answers on others.
	StallTimeout time.Duration

	// MaxAge is when a connection gets no more batches, less a random time of up to a tenth. Default 0,
	// which means never; at least 1 s. The pool closes it when nothing is in flight on it, or when its
	// user has returned it, so no outcome becomes unknown. One connection leaves at a time, and none
	// while the server cannot be dialled. Use it for servers and balancers that cut old connections,
	// and for certificates, passwords and tokens that change.
	MaxAge time.Duration
}

// with adds the options to the settings.
func (o Options) with(s nodepool.Settings) nodepool.Settings {
	s.MaxWaiters, s.FailFast = max(0, o.MaxWaiters), o.MaxWaiters < 0
	s.SuspectAfter, s.StallTimeout, s.MaxAge = o.SuspectAfter, o.StallTimeout, o.MaxAge
	return s
}

// The most that settings may be. More is a mistake.
const (
	mostConnections = 1 << 16 // a server has 65,535 ports for the connections from one address
	mostLanes       = 1 << 10 // the set of lanes is copied when one joins
	mostWaiters     = 1 << 20
	mostInFlight    = 1 << 20
)

// validateOptions returns an error if the options cannot be used that the settings, which
// have their defaults, were made of.
func validateOptions(kind string, s nodepool.Settings) error {
	if err := cmp.Or(
		setting.Duration("pool: "+kind+".StallTimeout", s.StallTimeout, nodepool.LeastSuspectAfter, 0, "or a healthy server's pauses count as stalls"),
		setting.Duration("pool: "+kind+".SuspectAfter", s.SuspectAfter, nodepool.LeastSuspectAfter, 0, "or a healthy server's pauses count as silence"),
		setting.Duration("pool: "+kind+".MaxAge", s.MaxAge, time.Second, 0, "or 0 for none"),
	); err != nil {
		return err
	}
	if s.StallTimeout < s.SuspectAfter {
		return fmt.Errorf("pool: %s.StallTimeout = %v: must be at least SuspectAfter, which is %v: raise it, or lower SuspectAfter", kind, s.StallTimeout, s.SuspectAfter)
	}
	return inRange(kind, "MaxWaiters", s.MaxWaiters, mostWaiters)
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

func inOrder(least, most int) error {
	if least > most {
		return fmt.Errorf("pool: Adaptive.Min = %d is more than Max = %d", least, most)
	}
	return nil
}
