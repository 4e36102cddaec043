package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// hint asks for a refresh soon. It never blocks.
func (c *Client) hint() {
	select {
	case c.stale <- struct{}{}:
	default:
	}
}

// Sync fetches the map of the slots now and returns when it is in use.
func (c *Client) Sync(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.syncs = append(c.syncs, done)
	c.mu.Unlock()
	c.hint()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("redislanes: waiting for a refresh: %w", ctx.Err())
	case <-c.ctx.Done():
		return errClosed
	}
}

// keepFresh refreshes when it is hinted at, asked to by Sync, and now and then,
// one at a time. Until there is a map ([Config.Lazy]), it tries again after a pause.
func (c *Client) keepFresh() {
	var tick <-chan time.Time
	if c.cfg.RefreshEvery > 0 {
		ticker := time.NewTicker(c.cfg.RefreshEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	spacing := time.NewTimer(0)
	defer spacing.Stop()
	var spaced <-chan time.Time // not nil while a refresh is due when spacing fires
	if c.topology.Load().Map == nil {
		spaced = spacing.C
	}
	next := time.Now()
	var pace pacer
	for failures := 0; ; {
		select {
		case <-c.stale:
			if c.nobodySyncs() {
				if spaced == nil {
					spacing.Reset(time.Until(next))
					spaced = spacing.C
				}
				continue
			}
		case <-spaced:
		case <-tick:
			if len(c.working()) == 0 && c.topology.Load().Map != nil {
				continue // nobody uses the client: the next call asks if the map is out of date
			}
		case <-c.ctx.Done():
			return
		}
		spaced = nil
		c.refreshForAll()
		now := time.Now()
		next = now.Add(pace.after(now))
		if c.topology.Load().Map == nil {
			spacing.Reset(startPause(failures))
			spaced = spacing.C
			failures++
		}
	}
}

func (c *Client) nobodySyncs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.syncs) == 0
}

// refreshForAll refreshes and tells the callers of Sync that wait.
func (c *Client) refreshForAll() {
	c.mu.Lock()
	waiting := c.syncs
	c.syncs = nil
	c.mu.Unlock()
	err := c.refresher.refresh(c.ctx)
	if err != nil && c.topology.Load().Map == nil {
		c.notStarted.Store(&err) // before anybody can ask
	}
	c.refresher.noteRefreshed(err)
	for _, done := range waiting {
		done <- err
	}
}

// A pacer says how soon a refresh may follow the last one. It is a token bucket, from which
// each refresh takes one token.
type pacer struct {
	quick float64 // how many may be quick now
	last  time.Time
}

// after notes a refresh that has ended now and returns the least time until the
// next one that hints may ask for.
func (p *pacer) after(now time.Time) time.Duration {
	p.quick = min(p.quick+now.Sub(p.last).Seconds()/quickEvery.Seconds(), quickRefreshes)
	p.last = now
	if p.quick >= 1 {
		p.quick--
		return quickSpacing + rand.N(refreshJitter)
	}
	p.quick = 0
	return refreshSpacing + rand.N(refreshJitter)
}
