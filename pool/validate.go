package pool

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/setting"
)

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
