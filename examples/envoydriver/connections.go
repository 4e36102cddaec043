package envoydriver

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
)

// connections counts those of all pools.
type connections struct {
	open   atomic.Int64 // for a moment below 0: ConnClosed may come before Dialed
	mu     sync.Mutex   // held during changes and calls, so that what is told last is true
	health func(bool)
	told   func(open, change int)
}

func (c *connections) trace() *redislanes.Trace {
	return &redislanes.Trace{
		Dialed: func(_ *redislanes.PoolInfo, _ time.Duration, err error) {
			if err == nil {
				c.change(1)
			}
		},
		ConnClosed: func(*redislanes.PoolInfo, string, error) { c.change(-1) },
	}
}

func (c *connections) change(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := int(c.open.Add(int64(by)))
	if up := open > 0; up != (open-by > 0) && c.health != nil {
		c.health(up)
	}
	if c.told != nil {
		c.told(max(open, 0), by)
	}
}
