package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

const (
	// refreshSpacing is the least time between two refreshes that hints of
	// requests ask for, so that a failover does not end in a storm of them.
	refreshSpacing = 500 * time.Millisecond
	refreshJitter  = 100 * time.Millisecond

	// askTimeout bounds the question to one server; askStagger is how long the
	// next one is not asked while the answer is out.
	askTimeout = 2 * time.Second
	askStagger = 500 * time.Millisecond

	// maxMap bounds the reply to CLUSTER SLOTS, and maxMapBulk a string in it:
	// 16,384 ranges with a few nodes each have less.
	maxMap     = 16 << 20
	maxMapBulk = 64 << 10
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
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.syncs = append(c.syncs, done)
	c.mu.Unlock()
	c.hint()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cluster: waiting for a refresh: %w", ctx.Err())
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// keepFresh refreshes when it is hinted at, asked to by Sync, and now and then,
// one at a time.
func (c *Client) keepFresh() {
	var tick <-chan time.Time
	if c.cfg.RefreshEvery > 0 {
		ticker := time.NewTicker(c.cfg.RefreshEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	spacing := time.NewTimer(0)
	defer spacing.Stop()
	var spaced <-chan time.Time // not nil while a hint waits for the spacing
	next := time.Now()
	for {
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
		case <-c.ctx.Done():
			return
		}
		spaced = nil
		c.refreshForAll()
		next = time.Now().Add(refreshSpacing + rand.N(refreshJitter))
	}
}

func (c *Client) nobodySyncs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.syncs) == 0
}

func (c *Client) refreshForAll() {
	c.mu.Lock()
	waiting := c.syncs
	c.syncs = nil
	c.mu.Unlock()
	err := c.refresh(c.ctx)
	if err != nil && c.ctx.Err() == nil {
		c.cfg.Logger.Warn("refresh failed", "error", err)
	}
	for _, done := range waiting {
		done <- err
	}
}

// refresh asks the known nodes in random order, then the seeds, until one
// answers. It uses connections of its own: the pools may be saturated, and the
// question must not wait behind requests.
func (c *Client) refresh(ctx context.Context) error {
	a, err := c.askAny(ctx, c.candidates())
	if err != nil {
		c.counters.refreshErrors.Add(1)
		return err
	}
	c.counters.refreshes.Add(1)
	c.setRanges(a.ranges, a.single)
	return nil
}

func (c *Client) candidates() []string {
	var addrs []string
	seen := make(map[string]bool)
	add := func(addr string) {
		if !seen[addr] {
			seen[addr] = true
			addrs = append(addrs, addr)
		}
	}
	for _, n := range c.topology.Load().all() {
		add(n.addr)
	}
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	for _, seed := range c.seeds {
		add(seed)
	}
	return addrs
}

type answer struct {
	addr   string
	ranges []slotRange
	single bool // the server is not part of a cluster
	err    error
}

// askAny asks one address after the other, the next one as soon as the last
// has failed or is slow, and returns the first map it gets.
func (c *Client) askAny(ctx context.Context, addrs []string) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(addrs))
	failed := &UnreachableError{}
	stagger := time.NewTimer(0)
	defer stagger.Stop()
	asked := 0
	for len(failed.Causes) < len(addrs) {
		var more <-chan time.Time
		if asked < len(addrs) {
			more = stagger.C
		}
		select {
		case <-more:
			addr := addrs[asked]
			asked++
			c.tasks.Go(func() {
				answers <- c.ask(ctx, addr)
			})
			stagger.Reset(askStagger)
		case a := <-answers:
			if a.err == nil {
				return a, nil
			}
			failed.Causes = append(failed.Causes, AddrError{a.addr, a.err})
			stagger.Reset(0)
		case <-ctx.Done():
			return answer{}, failed.withRest(addrs, ctx.Err())
		}
	}
	return answer{}, failed
}

// ask fetches CLUSTER SLOTS from one server.
func (c *Client) ask(ctx context.Context, addr string) answer {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	dialer := c.cfg.Dialer
	dialer.Limits = dialer.Limits.WithDefaults()
	dialer.Limits.Bulk = min(dialer.Limits.Bulk, maxMapBulk)
	dialer.Limits.Reply = min(dialer.Limits.Reply, maxMap)
	lane, err := dialer.Dial(ctx, addr)
	if err != nil {
		return answer{addr: addr, err: err}
	}
	defer lane.Close()
	request := resp.AppendCommand(nil, "CLUSTER", "SLOTS")
	call, batch := lanes.NewCall(), new(lanes.Batch)
	batch.Reset(call, request)
	batch.Add(0, len(request))
	lanes.RoundTrip(ctx, lane, call, batch)
	reply, err := batch.Reply(0)
	switch {
	case err != nil:
		return answer{addr: addr, err: err}
	case resp.IsError(reply) && clusterDisabled(resp.ErrorText(reply)):
		all := slotRange{first: 0, last: SlotCount - 1, nodes: []nodeAddr{{addr: addr}}}
		return answer{addr: addr, ranges: []slotRange{all}, single: true}
	case resp.IsError(reply):
		return answer{addr: addr, err: replyError(request, addr, reply)}
	}
	ranges, err := parseSlots(reply, addr)
	if err == nil && len(ranges) == 0 {
		err = errors.New("the server knows of no slots: is it part of a cluster?")
	}
	return answer{addr: addr, ranges: ranges, err: err}
}
