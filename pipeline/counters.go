package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// CountersConfig is the settings of [Counters]. The zero value works.
type CountersConfig struct {
	// ExpireNew sets the time to live only of keys that have none, as EXPIRE NX
	// does: the window of a rate limiter then begins with its first hit instead
	// of moving along with each. Servers before Redis 7 do not know NX; there,
	// a second round trip follows for keys that the hits have created.
	ExpireNew bool
}

// Counters counts hits on many keys: INCRBY and EXPIRE for each in one call,
// as a rate limiter needs it. Hits of several callers on one key that wait at
// the same time travel as one INCRBY, so that a hot key may be hit more often
// than Redis can execute commands; each caller still gets the total that it
// would have got if all INCRBYs had run one after another.
//
// A key that nobody else is counting is counted at once. While a flight for it
// is out, further hits on it gather for the next flight. Make it with
// [NewCounters]. All methods are safe for concurrent use.
type Counters struct {
	client *cluster.Client
	cfg    CountersConfig
	seed   maphash.Seed
	shards [counterShards]counterShard

	gathered atomic.Uint64 // hits that had to wait for a flight, ever

	pipelines sync.Pool // of *Pipeline
	calls     sync.Pool // of *hitCall
	flights   sync.Pool // of *flight

	mu     sync.Mutex // guards what follows
	closed bool
	active sync.WaitGroup // calls of Hit and carriers
}

const counterShards = 64

// A counterShard is the keys that are being counted now, by hash.
type counterShard struct {
	mu  sync.Mutex // guards out, and the flights of its keys; never held across I/O
	out map[string]lineup
	_   [64]byte // a cache line for each shard's lock
}

// A lineup is a key of which a flight is out, and the flights that wait.
type lineup struct {
	owner   *hitCall // that the flight which is out belongs to; nil for a carrier
	own     *flight  // the owner's, which takes its further hits until it leaves
	waiting []*flight
}

// A Hit is one key's part of a call of [Counters.Hit], and its outcome.
type Hit struct {
	Key string
	By  int64 // what is added; may be negative or 0
	// TTL is the key's time to live from now on; 0 or less leaves it alone. Of
	// hits that travel together, the longest counts.
	TTL time.Duration

	Total int64 // the counter after the hit; 0 if it failed
	// Err is as of [Reply]. If the hit was counted and only EXPIRE failed, it
	// is the error of EXPIRE, and Total is set.
	Err error
}

// NewCounters returns counters that live on the client's cluster.
func NewCounters(client *cluster.Client, c CountersConfig) *Counters {
	counters := &Counters{client: client, cfg: c, seed: maphash.MakeSeed()}
	for i := range counters.shards {
		counters.shards[i].out = make(map[string]lineup)
	}
	counters.pipelines.New = func() any { return New(client) }
	counters.calls.New = func() any { return &hitCall{done: make(chan struct{}, 1)} }
	counters.flights.New = func() any { return new(flight) }
	return counters
}

// Hit counts all hits and sets Total or Err of each. It returns nil if all
// succeeded, and an [Error] otherwise. The same key may be hit more than once.
//
// At the context's end the hits that have not left yet are taken back
// (lanes.ErrNotSent), and those that are under way go on, for those who share
// their flights, with an unknown outcome (lanes.ErrUnknownOutcome).
func (c *Counters) Hit(ctx context.Context, hits []Hit) error {
	switch {
	case c.client == nil:
		return fail(hits, errNoClient)
	case ctx == nil:
		return fail(hits, errNilContext)
	case !c.enter():
		return fail(hits, pool.ErrClosed)
	}
	defer c.active.Done()
	if err := ctx.Err(); err != nil {
		return fail(hits, lanes.NotSent("", err))
	}
	if len(hits) == 0 {
		return nil
	}
	call := c.calls.Get().(*hitCall)
	call.begin(len(hits))
	c.join(ctx, call, hits)
	c.leave(ctx, call)
	if err := call.wait(ctx); err != nil {
		c.takeBack(call, hits, err) // the call is not used again: flights may still hold its members
	} else {
		call.land(hits)
		c.calls.Put(call)
	}
	return firstFailure(hits)
}

// fail ends a call that has not begun.
func fail(hits []Hit, err error) error {
	for i := range hits {
		hits[i].Total, hits[i].Err = 0, notCounted(err)
	}
	if len(hits) == 0 {
		return fmt.Errorf("pipeline: Hit: %w", err)
	}
	return firstFailure(hits)
}

func firstFailure(hits []Hit) error {
	var result *Error
	for i := range hits {
		if hits[i].Err == nil {
			continue
		}
		if result == nil {
			result = &Error{Total: len(hits), First: hits[i].Err}
		}
		result.Failed++
	}
	if result == nil {
		return nil
	}
	return result
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
// those that are running, and for what is under way. The client stays open.
func (c *Counters) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.active.Wait()
	return nil
}

func (c *Counters) shard(key string) *counterShard {
	return &c.shards[maphash.String(c.seed, key)%counterShards]
}

// join puts each hit on a flight: one that waits because another one for the
// key is out, or one of this call's own, which may leave at once.
func (c *Counters) join(ctx context.Context, call *hitCall, hits []Hit) {
	deadline, _ := ctx.Deadline()
	for i := range hits {
		h, m := &hits[i], &call.members[i]
		*m = member{call: call, by: h.By}
		s := c.shard(h.Key)
		s.mu.Lock()
		l, isOut := s.out[h.Key]
		switch {
		case !isOut:
			l = lineup{owner: call, own: c.newFlight(h.Key)}
			l.own.add(m, h.TTL, deadline)
			s.out[h.Key] = l
			call.own = append(call.own, l.own)
		case l.owner == call && l.own.takes(h.By):
			l.own.add(m, h.TTL, deadline)
		default:
			n := len(l.waiting)
			if n == 0 || !l.waiting[n-1].takes(h.By) {
				l.waiting = append(l.waiting, c.newFlight(h.Key))
				s.out[h.Key] = l
				n++
			}
			l.waiting[n-1].add(m, h.TTL, deadline)
			c.gathered.Add(1)
		}
		s.mu.Unlock()
	}
}

// takeBack ends a call at its context's end. Hits whose flights have not left
// are taken off them.
func (c *Counters) takeBack(call *hitCall, hits []Hit, cause error) {
	for i := range hits {
		h, m := &hits[i], &call.members[i]
		s := c.shard(h.Key)
		s.mu.Lock()
		switch f := m.flight; {
		case f == nil: // it has landed
			h.Total, h.Err = m.total, m.err
		case f.left:
			h.Total, h.Err = 0, notCounted(&lanes.OutcomeError{Outcome: lanes.ErrUnknownOutcome, Cause: cause})
		default:
			f.remove(m)
			h.Total, h.Err = 0, notCounted(lanes.NotSent("", cause))
		}
		s.mu.Unlock()
	}
}

func notCounted(err error) error { return &cluster.CommandError{Command: "INCRBY", Err: err} }
