package envoydriver

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// connections counts those of all pools. It is a cluster.Observer, and the
// cluster.ConnObserver of each pool.
type connections struct {
	open   atomic.Int64 // for a moment below 0: Closed may come before Dialed
	mu     sync.Mutex   // held during changes and calls, so that what is told last is true
	health func(bool)
	told   func(open, change int)
}

func (c *connections) Pool(cluster.PoolInfo) cluster.PoolObserver { return c }
func (c *connections) Request(cluster.RequestInfo)                {}
func (c *connections) Waited(time.Duration)                       {}
func (c *connections) Left()                                      {}
func (c *connections) Closed(string, time.Duration, error)        { c.change(-1) }

func (c *connections) Dialed(_ time.Duration, err error) {
	if err == nil {
		c.change(1)
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
