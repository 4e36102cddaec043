package pipeline

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/cluster"
)

// A hitCall is one call of Counters.Hit that waits for its flights.
type hitCall struct {
	pending atomic.Int32 // members that have not landed, and one until the caller waits
	done    chan struct{}
	members []member
	own     []*flight // that leave with this call
}

func (c *hitCall) begin(n int) {
	c.pending.Store(int32(n) + 1)
	c.members = slices.Grow(c.members[:0], n)[:n]
	c.own = c.own[:0]
}

func (c *hitCall) wait(ctx context.Context) error {
	if c.pending.Add(-1) == 0 {
		return nil
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *hitCall) landed() {
	if c.pending.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}

// land copies what became of the hits, all of which have landed.
func (c *hitCall) land(hits []Hit) {
	for i := range hits {
		hits[i].Total, hits[i].Err = c.members[i].total, c.members[i].err
		c.members[i] = member{}
	}
	clear(c.own)
}

// A member is a hit on its flight. The lock of the key's shard guards it until
// the flight has landed.
type member struct {
	call   *hitCall
	by     int64
	flight *flight // nil when it has landed
	total  int64
	err    error
}

// A flight is hits on one key that travel as one INCRBY. Their By have one
// sign: then none of the totals in between can overflow if the last one does
// not.
type flight struct {
	key      string
	sum      int64
	members  []*member
	ttl      time.Duration // the longest; 0: EXPIRE is not sent
	deadline time.Time     // the latest
	forever  bool          // somebody waits without a deadline
	left     bool          // it takes nobody more

	// What became of it; owned by whoever flies it.
	replies   [2]Reply // of INCRBY and EXPIRE
	total     int64
	err       error
	expiryErr error
	fresh     bool // EXPIRE NX was refused
	apart     bool // the hits went one by one
	parts     []part
}

func (c *Counters) newFlight(key string) *flight {
	f := c.flights.Get().(*flight)
	*f = flight{key: key, members: f.members[:0]}
	return f
}

// takes reports whether one more hit can travel along.
func (f *flight) takes(by int64) bool {
	switch {
	case f.left:
		return false
	case f.sum > 0:
		return by >= 0 && by <= math.MaxInt64-f.sum
	case f.sum < 0:
		return by <= 0 && by >= math.MinInt64-f.sum
	}
	return true
}

func (f *flight) add(m *member, ttl time.Duration, deadline time.Time) {
	m.flight = f
	f.members = append(f.members, m)
	f.sum += m.by
	f.ttl = max(f.ttl, ttl)
	f.forever = f.forever || deadline.IsZero()
	if deadline.After(f.deadline) {
		f.deadline = deadline
	}
}

func (f *flight) remove(m *member) {
	f.members = slices.DeleteFunc(f.members, func(other *member) bool { return other == m })
	f.sum -= m.by
	m.flight = nil
}

// send sends the flights in one pipeline.
func (c *Counters) send(ctx context.Context, flights []*flight) {
	p := c.pipelines.Get().(*Pipeline)
	defer c.pipelines.Put(p)
	p.Reset()
	for _, f := range flights {
		f.replies[0] = p.IncrBy(f.key, f.sum)
		if f.ttl > 0 {
			f.replies[1] = c.expire(p, f)
		}
	}
	_ = p.Do(ctx) // each flight asks for its own error
	apart, fresh := false, false
	for _, f := range flights {
		f.total, f.err = f.replies[0].Int()
		if f.ttl > 0 {
			f.expiryErr = f.replies[1].Err()
		}
		f.apart = len(f.members) > 1 && refusedByServer(f.err)
		f.fresh = c.cfg.ExpireNew && f.err == nil && refusedByServer(f.expiryErr)
		apart, fresh = apart || f.apart, fresh || f.fresh
	}
	if fresh {
		expireFresh(ctx, p, flights)
	}
	if apart {
		flyApart(ctx, p, flights)
	}
}

// expire appends the flight's EXPIRE.
func (c *Counters) expire(p *Pipeline, f *flight) Reply {
	if !c.cfg.ExpireNew {
		return p.Expire(f.key, f.ttl)
	}
	name, n := expiry(f.ttl)
	return p.Cmd(name, f.key, strconv.FormatInt(n, 10), "NX")
}

// expireFresh stands in for EXPIRE NX where the server does not know it: a key
// whose total is the flight's own sum was 0 before, or did not exist.
func expireFresh(ctx context.Context, p *Pipeline, flights []*flight) {
	p.Reset()
	for _, f := range flights {
		if f.fresh {
			f.expiryErr = nil
			if f.fresh = f.total == f.sum; f.fresh {
				f.replies[1] = p.Expire(f.key, f.ttl)
			}
		}
	}
	_ = p.Do(ctx)
	for _, f := range flights {
		if f.fresh {
			f.expiryErr = f.replies[1].Err()
		}
	}
}

// refusedByServer tells an error of the server that is final, so that INCRBY
// has not run.
func refusedByServer(err error) bool {
	var said resp3.SimpleError
	return errors.As(err, &said) && !errors.Is(err, cluster.ErrRefused)
}

// flyApart sends the hits of flights that the server refused one by one: a sum
// may overflow where its first parts do not, and each caller gets what it would
// have got alone.
func flyApart(ctx context.Context, p *Pipeline, flights []*flight) {
	p.Reset()
	var replies []Reply
	for _, f := range flights {
		if f.apart {
			for _, m := range f.members {
				replies = append(replies, p.IncrBy(f.key, m.by))
			}
		}
	}
	_ = p.Do(ctx)
	for _, f := range flights {
		if !f.apart {
			continue
		}
		for range f.members {
			total, err := replies[0].Int()
			replies = replies[1:]
			f.parts = append(f.parts, part{total, err})
		}
	}
}

// A part is what became of one hit of a flight that went apart.
type part struct {
	total int64
	err   error
}

// land notes for the members of a flight what became of them, and reports
// whether the key is still out.
func (c *Counters) land(f *flight, keep bool) (out bool) {
	s := c.shard(f.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	total := f.total
	for i := len(f.members) - 1; i >= 0; i-- {
		m := f.members[i]
		switch {
		case f.apart:
			m.total, m.err = f.parts[i].total, f.parts[i].err
		case f.err != nil:
			m.err = f.err
		default:
			m.total, m.err = total, f.expiryErr
			total -= m.by
		}
		m.flight = nil
	}
	l := s.out[f.key]
	if out = keep || len(l.waiting) > 0; out {
		s.out[f.key] = lineup{waiting: l.waiting}
	} else {
		delete(s.out, f.key)
	}
	return out
}
