package nodepool

import (
	"fmt"
	"time"
)

// Adaptive is pool.Adaptive.
type Adaptive struct {
	Min, Max    int
	IdleTimeout time.Duration

	Options
}

const defaultIdleTimeout = 10 * time.Second

func (a Adaptive) settings() (settings, error) {
	orDefault(&a.Min, 1)
	orDefault(&a.Max, max(DefaultSingleSize, a.Min))
	orDefault(&a.IdleTimeout, defaultIdleTimeout)
	a.Options = a.withDefaults()
	err := firstError(inRange("Adaptive", "Min", a.Min, mostConnections), inRange("Adaptive", "Max", a.Max, mostConnections), a.validate("Adaptive"))
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
