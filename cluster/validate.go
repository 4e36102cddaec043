package cluster

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/setting"
)

// validate returns an error if the settings cannot be used, those of the pool and the
// names of commands apart.
func (c Config) validate() error {
	if err := c.Dialer.Validate(); err != nil {
		return err
	}
	if err := cmp.Or(
		setting.DurationOrNone("cluster: Config.RefreshEvery", c.RefreshEvery, engine.LeastRefreshEvery, 0, "never"),
		setting.DurationOrNone("cluster: Config.RetryWindow", c.RetryWindow, setting.Least, 0, "none"),
	); err != nil {
		return err
	}
	if c.ZoneOf != nil && c.Zone == "" {
		return errors.New("cluster: Config.ZoneOf without Config.Zone: set the zone that this program runs in, or leave ZoneOf out")
	}
	return c.validateSentinel()
}

func (c Config) validateSentinel() error {
	s := c.Sentinel
	switch {
	case s == nil:
		return nil
	case c.Standalone:
		return errors.New("cluster: Config.Standalone and Config.Sentinel are both set: leave one out")
	case s.Primary == "":
		return errors.New("cluster: Config.Sentinel.Primary is empty: give the name that the Sentinels know the primary by")
	case s.Dialer.Database != 0:
		return fmt.Errorf("cluster: Config.Sentinel.Dialer.Database = %d: a Sentinel has no databases; set Config.Dialer.Database", s.Dialer.Database)
	}
	if err := s.Dialer.Validate(); err != nil {
		return fmt.Errorf("cluster: Config.Sentinel: %w", err)
	}
	return nil
}
