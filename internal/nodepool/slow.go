package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// Batches that are marked as slow travel on lanes of their own, so that nobody
// else's commands queue behind them. Those lanes are a pool inside the pool, as
// the connections are that it lends: with a queue, a watchdog and a breaker of
// its own. It is made when the first slow batch comes.

// HasSlowLanes reports whether pools with these settings have lanes for batches
// that are marked as slow. Others ignore the mark.
func HasSlowLanes(c Config) bool {
	s, err := c.settings()
	return err == nil && s.slowLanes > 0
}

// slowSettings are those of the lanes for slow commands. FirstFit would put them
// one behind the other.
func (s settings) slowSettings() settings {
	return settings{
		Options: s.Options, kind: kindSlow, min: s.slowLanes, max: s.slowLanes,
		shared: true, strategy: lanes.LeastUsed, maxInFlight: s.maxInFlight, maxQueued: s.maxQueued,
		trace: s.trace, info: s.info,
	}
}

func (a *sharedAccess) submitSlow(b *wire.Batch) (mine bool) {
	slow, err := a.part(&a.slow, settings.slowSettings)
	if err != nil {
		b.Fail(a.addr, err)
		return false
	}
	return slow.Submit(b)
}
