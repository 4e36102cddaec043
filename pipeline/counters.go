package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
)

// CountersConfig is the settings of [Counters]; there are none yet.
type CountersConfig struct{}

// Counters counts hits on many keys: INCRBY and EXPIRE for each in one call,
// as a rate limiter needs it. Make it with [NewCounters]. All methods are safe
// for concurrent use.
type Counters struct {
	client *cluster.Client
	spare  sync.Pool // of *Pipeline

	mu     sync.Mutex // guards what follows
	closed bool
	active sync.WaitGroup // calls of Hit
}

// A Hit is one key's part of a call of [Counters.Hit], and its outcome.
type Hit struct {
	Key string
	By  int64         // what is added; may be negative or 0
	TTL time.Duration // the key's time to live is set to it; 0 or less leaves it alone

	Total int64 // the counter after the hit
	Err   error // as of [Reply]; Total is then 0
}

// NewCounters returns counters that live on the client's cluster.
func NewCounters(client *cluster.Client, _ CountersConfig) *Counters {
	c := &Counters{client: client}
	c.spare.New = func() any { return New(client) }
	return c
}

// Hit counts all hits and sets Total or Err of each. It returns nil if all
// succeeded, and an [Error] otherwise. The same key may be hit more than once.
func (c *Counters) Hit(ctx context.Context, hits []Hit) error {
	if !c.enter() {
		for i := range hits {
			hits[i].Total, hits[i].Err = 0, pool.ErrClosed
		}
		return pool.ErrClosed
	}
	defer c.active.Done()
	p := c.spare.Get().(*Pipeline)
	defer c.spare.Put(p)
	p.Reset()
	for _, h := range hits {
		p.IncrBy(h.Key, h.By)
		if h.TTL > 0 {
			p.Expire(h.Key, h.TTL)
		}
	}
	err := p.Do(ctx)
	next := 0
	for i := range hits {
		hits[i].Total, hits[i].Err = p.reply(next).Int()
		next++
		if hits[i].TTL > 0 {
			if expireErr := p.reply(next).Err(); hits[i].Err == nil {
				hits[i].Err = expireErr
			}
			next++
		}
	}
	return err
}

func (c *Counters) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.active.Add(1)
	return true
}

// Close makes further calls of Hit fail with pool.ErrClosed and waits for
// those that are running. The client stays open.
func (c *Counters) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.active.Wait()
	return nil
}
