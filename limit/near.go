package limit

import (
	"hash/maphash"
	"math/bits"
	"strconv"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// near remembers keys that are over their limit, so that the hits that follow are
// denied without Redis. It is nil if nothing is to be
// remembered.
type near struct {
	seed   maphash.Seed
	shards []*lru.Cache[place, full]
	until  atomic.Int64 // the latest full.until, in nanoseconds since 1970: after it nothing is denied
	told   atomic.Int64 // the latest full.told
}

// A full is a key that is over its limit.
type full struct {
	rule         Rule
	cost         int64 // that was denied
	remaining    int64
	until        time.Time // when Redis is to be asked again
	retry, reset time.Time
	told         time.Time // how long it is over its limit, as far as is known
}

// nearTime returns how long a key is remembered that may be over its limit only because of hits that
// are about to be given back: by denied calls, or by leases that are not used.
func (c *Config) nearTime() time.Duration { return min(c.Budget, defaultBudget) }

func newNear(keys int) *near {
	if keys == 0 {
		return nil
	}
	n := &near{seed: maphash.MakeSeed()}
	for range nearShards {
		shard, _ := lru.New[place, full](max(1, keys/nearShards)) // an error only for a size of 0
		n.shards = append(n.shards, shard)
	}
	return n
}

func (n *near) shard(at place) *lru.Cache[place, full] {
	h := bits.RotateLeft64(maphash.String(n.seed, at.key), 1) ^ maphash.String(n.seed, at.head)
	return n.shards[h%nearShards]
}

func bounded(seed maphash.Seed, key string) string {
	if len(key) <= longKey {
		return key
	}
	return strconv.FormatUint(maphash.String(seed, key), 36)
}

// denies fills in the decision if the key is known to be over its limit, for a hit
// of the cost. In a sliding window or a bucket, a hit that costs more may have to wait longer, so
// Redis is asked. In a fixed window both wait for its end.
func (n *near) denies(at place, r *Rule, cost int64, now time.Time, d *Decision) bool {
	if n == nil || n.until.Load() <= now.UnixNano() {
		return false
	}
	at.key = bounded(n.seed, at.key)
	f, ok := n.shard(at).Get(at)
	if !ok || f.rule != *r || !now.Before(f.until) || cost < f.cost || cost > f.cost && r.Algorithm != FixedWindow {
		return false
	}
	d.Near, d.Remaining = true, f.remaining
	d.RetryAfter, d.ResetAfter = max(1, f.retry.Sub(now)), max(0, f.reset.Sub(now))
	return true
}

// note remembers a hit that was denied, of a call that began at now: its times count from when Redis
// decided, which was later, so the key is not remembered for too long.
func (n *near) note(at place, r *Rule, cost int64, now time.Time, d *Decision, most time.Duration) {
	if d.RetryAfter == Never {
		return
	}
	at.key = bounded(n.seed, at.key)
	f := full{rule: *r, cost: cost, remaining: d.Remaining, retry: now.Add(d.RetryAfter), reset: now.Add(d.ResetAfter)}
	f.until, f.told = now.Add(min(d.RetryAfter, most)), now.Add(d.ResetAfter)
	n.shard(at).Add(at, f)
	later(&n.until, f.until)
	later(&n.told, f.told)
}

// forget has hits on the key ask Redis again.
func (n *near) forget(at place) {
	if n != nil {
		at.key = bounded(n.seed, at.key)
		n.shard(at).Remove(at)
	}
}

// later moves a time on, unless it is later already.
func later(last *atomic.Int64, to time.Time) {
	for at := last.Load(); at < to.UnixNano() && !last.CompareAndSwap(at, to.UnixNano()); {
		at = last.Load()
	}
}

// wasFull reports whether a hit on the key was denied in this window, though it may be
// allowed by now.
func (n *near) wasFull(at place, now time.Time) bool {
	if n == nil || n.told.Load() <= now.UnixNano() {
		return false
	}
	at.key = bounded(n.seed, at.key)
	f, ok := n.shard(at).Get(at)
	return ok && now.Before(f.told)
}
