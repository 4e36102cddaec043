package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A refresher fetches maps of the slots, one at a time, and tells the log and the trace of them. It is
// for New and then for keepFresh, without a lock; hint and the channels are for all.
type refresher struct {
	client *Client
	stale  chan struct{}   // capacity 1: something hints that the map is out of date
	syncs  chan chan error // of callers of Sync

	failing map[string]time.Time // since when the server at an address has given no map of ours
	strange map[string]bool      // servers that gave another cluster's map, which the log has told

	since  time.Time      // since when refreshes fail; zero: the last one has succeeded
	failed guard.Throttle // lines about that
	shown  *topology      // the last one that the trace and the log were told of
	moved  int            // slots that have moved since the log was told
	told   guard.Throttle // lines about that
}

func newRefresher(c *Client) refresher {
	return refresher{client: c, stale: make(chan struct{}, 1), syncs: make(chan chan error, mostSyncs),
		failing: make(map[string]time.Time), strange: make(map[string]bool)}
}

// hint asks for a refresh soon. It never blocks.
func (r *refresher) hint() {
	select {
	case r.stale <- struct{}{}:
	default:
	}
}

// Sync fetches the map of the slots now and returns when it is in use.
func (c *Client) Sync(ctx context.Context) error {
	if err := c.Usable(ctx); err != nil && (!c.Made() || ctx == nil || c.ctx.Err() != nil) {
		return err // not if there is no map yet
	}
	done := make(chan error, 1)
	for asks := c.refresher.syncs; ; {
		select {
		case asks <- done:
			asks = nil
		case err := <-done:
			return err
		case <-ctx.Done():
			return fmt.Errorf("redislanes: waiting for a refresh: %w", ctx.Err())
		case <-c.ctx.Done():
			return errClosed
		}
	}
}

// keepFresh refreshes when it is hinted at, asked to by Sync, and now and then,
// one at a time. Until there is a map ([Config.Lazy]), it tries again after a pause.
func (r *refresher) keepFresh() {
	c := r.client
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
		var waiting []chan error
		select {
		case <-r.stale:
			if spaced == nil {
				spacing.Reset(time.Until(next))
				spaced = spacing.C
			}
			continue
		case done := <-r.syncs:
			waiting = append(waiting, done)
		case <-spaced:
		case <-tick:
			if len(c.working()) == 0 && c.topology.Load().Map != nil {
				continue // nobody uses the client: the next call asks if the map is out of date
			}
		case <-c.ctx.Done():
			return
		}
		for range len(r.syncs) {
			waiting = append(waiting, <-r.syncs)
		}
		spaced = nil
		err := r.refresh(c.ctx)
		r.noteRefreshed(err)
		now := time.Now()
		next = now.Add(pace.after(now))
		if c.topology.Load().Map == nil {
			c.notStarted.Store(&err) // before anybody can ask
			spacing.Reset(startPause(failures))
			spaced = spacing.C
			failures++
		}
		for _, done := range waiting {
			done <- err
		}
	}
}

// refresh asks servers in the order of candidates until a map can be used.
func (r *refresher) refresh(ctx context.Context) error {
	if err := r.poll(ctx); err != nil {
		r.client.counters.refreshErrors.Add(1)
		return err
	}
	r.client.counters.refreshes.Add(1)
	r.noteChanges()
	return nil
}

// noteRefreshed tells the log of refreshes that fail, and of the first one that succeeds again.
func (r *refresher) noteRefreshed(err error) {
	now, log := time.Now(), r.client.log
	switch {
	case err == nil && !r.since.IsZero():
		log.Note(guard.RefreshSucceeded, now.Sub(r.since))
		r.since = time.Time{}
		r.failed.Over()
	case err == nil || r.client.ctx.Err() != nil:
	default:
		if r.since.IsZero() {
			r.since = now
		}
		if n, due := r.failed.Due(now); due {
			log.Note(guard.RefreshFailed, n, err)
		}
		log.Panicked(err)
	}
}

// noteChanges tells the trace and the log how the map in use differs from the one that they were told of last.
// While slots move all the time, the log has one line in five seconds at most.
func (r *refresher) noteChanges() {
	c, before := r.client, r.shown
	r.shown = c.topology.Load()
	joined, left, moved := slots.Diff(before, r.shown)
	if moved == 0 && len(joined)+len(left) == 0 {
		return
	}
	if t := c.cfg.Trace; t != nil && t.TopologyChanged != nil {
		c.log.Call("Trace.TopologyChanged", func() { t.TopologyChanged(joined, left, moved) })
	}
	if before == nil {
		return // the first map is no news
	}
	if r.moved += moved; r.moved == 0 {
		return
	}
	if _, due := r.told.Due(time.Now()); due {
		c.log.Note(guard.SlotsMoved, r.moved)
		r.moved = 0
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

// start fetches the first map of the slots. What will pass, such as a server
// that is loading its data, is waited for.
func (r *refresher) start(ctx context.Context) error {
	var unready error // says more than an attempt that the context's end cuts off
	for attempts := 0; ; attempts++ {
		err := r.refresh(ctx)
		switch {
		case err != nil && ctx.Err() != nil && unready != nil:
			return fmt.Errorf("%w; the context ended before one was ready: %w", unready, ctx.Err())
		case err == nil || ctx.Err() != nil || !willPass(err):
			return err
		}
		r.client.log.Note(guard.NotReady, err)
		unready = err
		_ = r.client.wait(ctx, startPause(attempts), nil) // the next attempt ends at once if the context has ended
	}
}

// startPause returns how long to wait after so many attempts of a client that starts.
func startPause(attempts int) time.Duration {
	limit := min(minStartBackoff<<min(attempts, 10), maxStartBackoff)
	return limit/2 + rand.N(limit/2)
}

// willPass reports whether any server has said that it is not ready for now.
func willPass(err error) bool {
	var all *cause.Unreachable
	if !errors.As(err, &all) {
		return false
	}
	return slices.ContainsFunc(all.Causes, func(told cause.OfAddr) bool {
		refused := wire.Refusal(told.Err)
		return errors.Is(told.Err, redislanes.ErrRefused) || errors.Is(told.Err, wire.ErrCredentials) ||
			refused != nil && wire.Passes(refused) && fate.Of([]byte(wire.RefusalText(refused))) != fate.Unlisted
	})
}
