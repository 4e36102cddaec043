package limit

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/pipeline"
)

// leases has the hits that a limiter has reserved, by key.
type leases struct {
	rates  *lease.Rates
	epoch  time.Time
	seed   maphash.Seed
	n      atomic.Int64 // how many there are
	shards [leaseShards]leaseShard
}

type leaseShard struct {
	mu   sync.RWMutex
	keys map[leaseKey]*held
}

type leaseKey struct {
	limit *Limit
	key   string
}

// A held is the lease of a key, in one window after the other.
type held struct {
	limit *Limit
	key   string

	mu sync.Mutex
	lease.Lease
	window window
	gone   bool          // it is in no shard any more
	filled chan struct{} // closed when the grant has ended that is under way
}

const (
	leaseShards = 64
	mostLeases  = 10_000
	rateSlots   = 1 << 15
	leaseAt     = 8 // hits in a tick
)

func newLeases() *leases {
	s := &leases{epoch: time.Now(), seed: maphash.MakeSeed()}
	s.rates = lease.NewRates(rateSlots, s.epoch)
	for i := range s.shards {
		s.shards[i].keys = make(map[leaseKey]*held)
	}
	return s
}

// of returns the lease of the key, or nil if it is not hit often enough. created says that it
// is new.
func (s *leases) of(limit *Limit, key string, now time.Time) (h *held, created bool) {
	hash := maphash.String(s.seed, key)
	shard := &s.shards[hash>>32%leaseShards]
	k := leaseKey{limit, key}
	shard.mu.RLock()
	h = shard.keys[k]
	shard.mu.RUnlock()
	if h != nil || s.rates.Hit(hash, now, 1) < leaseAt || s.n.Load() >= mostLeases || len(key) > longKey {
		return h, false
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if h = shard.keys[k]; h != nil {
		return h, false
	}
	h = &held{limit: limit, key: key}
	shard.keys[k] = h
	return h, s.n.Add(1) == 1
}

// A taking is what a lease has given, and what is to be asked for.
type taking struct {
	missing int64         // of the cost
	ask     bool          // it is time to ask for more
	want    int64         // how many
	free    int64         // what is known to be free, with what the lease has
	filled  chan struct{} // when a grant that is under way has ended
}

// take takes the cost from the lease, or as much as there is. What is left of an earlier window
// is lost.
func (h *held) take(w window, cost int64, at time.Duration) (t taking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.window.number < w.number {
		h.Lease, h.window = h.Next(h.limit.rule.Limit), w
	}
	if h.window.number > w.number || h.gone {
		return taking{missing: cost}
	}
	var taken int64
	if taken, t.ask = h.Take(cost, at); t.ask {
		h.filled = make(chan struct{})
	}
	t.missing, t.free, t.want, t.filled = cost-taken, h.Free(), h.Wants(), h.filled
	return t
}

// grantText counts hits only as far as they fit under the limit.
//
// KEYS[1] is the counter of a window. ARGV: the least that is of use, the most, the limit, and
// the time to live in milliseconds. The reply has what was granted, and the counter.
const grantText = `
local now = tonumber(redis.call("GET", KEYS[1]) or 0)
local n = math.min(tonumber(ARGV[2]), tonumber(ARGV[3]) - now)
if n < tonumber(ARGV[1]) or n <= 0 then
  return {0, now}
end
now = redis.call("INCRBY", KEYS[1], string.format("%d", n))
if redis.call("PTTL", KEYS[1]) < 0 then
  redis.call("PEXPIRE", KEYS[1], ARGV[4])
end
return {n, now}
`

var grantScript = pipeline.NewScript(grantText)

// A grant is a question for hits of a lease.
type grant struct {
	held   *held
	window window
	n      int64
	refill bool  // as many as there are, for the lease; else all or none, for a call
	taken  int64 // what the call has from the lease besides
	filled chan struct{}
}

func newGrant(g *grant, ttl time.Duration) *draw {
	r, least := &g.held.limit.rule, g.n
	if g.refill {
		least = 1
	}
	return &draw{key: place{g.held.limit.heads(g.window.number).now, g.held.key}.String(), grant: g, args: [5]string{
		strconv.FormatInt(least, 10), strconv.FormatInt(g.n, 10), strconv.FormatInt(r.Limit, 10), strconv.FormatInt(ttl.Milliseconds(), 10),
	}}
}

// settle puts the reply into the lease.
func (g *grant) settle(granted, total int64, err error) {
	h := g.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.refill {
		close(g.filled)
		if h.filled == g.filled {
			h.filled = nil
		}
	}
	switch {
	case h.window.number != g.window.number || h.gone:
	case !g.refill && (err != nil || granted == 0):
		h.Give(g.taken)
	case !g.refill:
	case err != nil:
		h.Fail()
	default:
		h.Grant(g.n, granted, h.limit.rule.Limit-total)
	}
}

// give puts hits back, for a call that was denied. It reports whether the lease is still of
// that window.
func (h *held) give(number, cost int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.window.number != number || h.gone {
		return false
	}
	h.Give(cost)
	return true
}

// refill asks for hits behind the caller's back.
func (l *Limiter) refill(h *held, w window, t taking) {
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		ctx, cancel := context.WithTimeout(l.life, l.cfg.Budget)
		defer cancel()
		d := newGrant(&grant{held: h, window: w, n: t.want, refill: true, filled: t.filled}, w.ttl(1, l.cfg.Budget))
		l.draw(ctx, []*draw{d})
		if d.err == nil {
			l.tell(h.limit, HitsCounted, d.granted)
		}
	}()
}

// tend returns hits that nobody uses, until there is no lease.
func (l *Limiter) tend() {
	defer l.inside.Leave()
	tick := time.NewTicker(2 * lease.Tick)
	defer tick.Stop()
	for l.leases.n.Load() > 0 {
		last := false
		select {
		case <-tick.C:
		case <-l.backlog.closed:
			last = true
		}
		l.leases.idle(l, time.Now(), last)
		if last {
			return
		}
	}
}

// idle looks at all leases, and returns what is left over.
func (s *leases) idle(l *Limiter, now time.Time, last bool) {
	at := now.Sub(s.epoch)
	var back []owed
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.Lock()
		for k, h := range shard.keys {
			h.mu.Lock()
			surplus, over := h.Idle(at)
			if last || over {
				surplus, h.gone = surplus+h.Left(), true
				delete(shard.keys, k)
				s.n.Add(-1)
			}
			if surplus > 0 && windowAt(now, h.window.length).number == h.window.number {
				back = append(back, owed{of: h.limit, cost: surplus, until: now.Add(h.window.left()), hit: pipeline.Hit{
					Prefix: h.limit.heads(h.window.number).now, Key: h.key, By: -surplus, TTL: h.window.ttl(1, l.cfg.Budget),
				}})
			}
			h.mu.Unlock()
		}
		shard.mu.Unlock()
	}
	l.backlog.offer(back)
}
