package pool

import (
	"fmt"
	"time"
)

// Adaptive is a pool like [Fixed] whose number of connections follows the
// load: it dials when batches wait, up to Max, and closes connections that
// were idle for IdleTimeout, down to Min.
type Adaptive struct {
	// Min and Max bound the number of connections to each server. Defaults 1,
	// and 50 to each node of a cluster, 10 to a server that stands alone (or
	// Min, if that is more).
	Min, Max int

	// IdleTimeout is how long a connection above Min may be idle. Default 10 s.
	IdleTimeout time.Duration

	Options
}

const defaultIdleTimeout = 10 * time.Second

func (a Adaptive) settings() (settings, error) {
	orDefault(&a.Min, 1)
	orDefault(&a.Max, max(DefaultSingleSize, a.Min))
	orDefault(&a.IdleTimeout, defaultIdleTimeout)
	a.Options = a.withDefaults()
	err := firstError(notNegative("Adaptive", "Min", a.Min), notNegative("Adaptive", "Max", a.Max), a.validate("Adaptive"))
	switch {
	case err != nil:
	case a.Min > a.Max:
		err = fmt.Errorf("pool: Adaptive.Min = %d is more than Max = %d", a.Min, a.Max)
	case a.IdleTimeout < 0:
		err = fmt.Errorf("pool: Adaptive.IdleTimeout = %v: must not be negative", a.IdleTimeout)
	}
	return settings{Options: a.Options, kind: "adaptive", min: a.Min, max: a.Max, idleTimeout: a.IdleTimeout, maxInFlight: 1}, err
}

func (a Adaptive) inCluster() Config {
	orDefault(&a.Max, max(DefaultSize, a.Min))
	return a
}
