package pool

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
)

// What is more than this is a mistake. A server has 65,535 ports for the
// connections from one address; the set of lanes is copied when one joins.
const (
	mostConnections = 1 << 16 // 65,536
	mostLanes       = 1 << 10 // 1,024
	mostWaiters     = 1 << 20 // 1,048,576
	mostInFlight    = 1 << 20
	mostQueuedBytes = 1 << 30
)

// leastAge is the least MaxAge: a connection that lives for less costs more than it is
// used.
const leastAge = time.Second

// validateOptions returns an error if the options cannot be used that the settings, which
// have their defaults, were made of.
func validateOptions(kind string, s nodepool.Settings) error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"StallTimeout", s.StallTimeout}, {"PauseTimeout", s.PauseTimeout}, {"MinBackoff", s.MinBackoff}, {"MaxBackoff", s.MaxBackoff}, {"MaxAge", s.MaxAge}} {
		if f.value < 0 {
			return fmt.Errorf("pool: %s.%s = %v: must not be negative", kind, f.name, f.value)
		}
	}
	if s.StallTimeout < nodepool.LeastStallTimeout {
		return fmt.Errorf("pool: %s.StallTimeout = %v: must be at least %v, or a healthy server's pauses count as stalls", kind, s.StallTimeout, nodepool.LeastStallTimeout)
	}
	if s.MaxAge > 0 && s.MaxAge < leastAge {
		return fmt.Errorf("pool: %s.MaxAge = %v: must be at least %v, or 0 for none", kind, s.MaxAge, leastAge)
	}
	if s.PauseTimeout < s.StallTimeout {
		return fmt.Errorf("pool: %s.PauseTimeout = %v is less than StallTimeout = %v", kind, s.PauseTimeout, s.StallTimeout)
	}
	if s.MinBackoff > s.MaxBackoff {
		return fmt.Errorf("pool: %s.MinBackoff = %v is more than MaxBackoff = %v", kind, s.MinBackoff, s.MaxBackoff)
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

// inOrder checks a range, and the time after which it shrinks.
func inOrder(kind, from string, low int, to string, high int, idle time.Duration) error {
	switch {
	case low > high:
		return fmt.Errorf("pool: %s.%s = %d is more than %s = %d", kind, from, low, to, high)
	case idle < 0:
		return fmt.Errorf("pool: %s.IdleTimeout = %v: must not be negative", kind, idle)
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
