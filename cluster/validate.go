package cluster

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/internal/wire"
)

// Validate returns the error that New returns for settings that cannot be used. It names the field and the value.
func (c Config) Validate() error {
	_, err := c.settings()
	return err
}

// validate returns an error if the settings cannot be used, those of the pool and the
// names of commands apart.
func (c Config) validate() error {
	if err := wire.CheckDialer(c.Dialer); err != nil {
		return err
	}
	if err := cmp.Or(
		setting.DurationOrNone("cluster: Config.RefreshEvery", c.RefreshEvery, engine.LeastRefreshEvery, 0, "never"),
		setting.DurationOrNone("cluster: Config.RetryWindow", c.RetryWindow, setting.Least, 0, "none"),
	); err != nil {
		return err
	}
	switch {
	case c.Sentinel == "":
		return nil
	case c.Standalone:
		return errors.New("cluster: Config.Standalone and Config.Sentinel are both set: leave one out")
	case c.SentinelDialer.Database != 0:
		return fmt.Errorf("cluster: Config.SentinelDialer.Database = %d: a Sentinel has no databases; set Config.Dialer.Database", c.SentinelDialer.Database)
	}
	if err := wire.CheckDialer(c.SentinelDialer); err != nil {
		return fmt.Errorf("cluster: Config.SentinelDialer: %w", err)
	}
	return nil
}
