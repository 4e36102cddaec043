package nodepool

import "github.com/redislanes/redislanes/internal/wire"

// Batches that are marked as slow travel on lanes of their own, so that nobody
// else's commands queue behind them. Those lanes are a pool inside the pool, as
// the connections are that it lends: with a queue, a watchdog and a breaker of
// its own. It is made when the first slow batch comes.

func (a *sharedAccess) submitSlow(b *wire.Batch) (mine bool) {
	slow, err := a.part(&a.slow, settings.slowSettings)
	if err != nil {
		b.Fail(a.addr, err)
		return false
	}
	return slow.Submit(b)
}
