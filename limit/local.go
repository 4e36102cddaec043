package limit

import (
	"hash/maphash"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// local decides in this process while Redis cannot: each key has a token bucket
// with this instance's share of its limit. It is nil if there is none.
type local struct {
	share   float64 // of this instance
	began   time.Time
	seed    maphash.Seed
	buckets *lru.Cache[localKey, *localBucket]
}

// A localKey holds the rule, so that a limit whose rule has changed begins anew, and a hash of the key, so that the
// memory has a bound.
type localKey struct {
	rule Rule
	key  uint64
}

func newLocal(instances int) *local {
	if instances == 0 {
		return nil
	}
	buckets, _ := lru.New[localKey, *localBucket](localKeys) // an error only for a size of 0
	return &local{share: 1 / float64(instances), began: time.Now(), seed: maphash.MakeSeed(), buckets: buckets}
}

// A localBucket is a token bucket by the generic cell rate algorithm.
type localBucket struct {
	mu   sync.Mutex
	full float64 // when it is full again, in nanoseconds since local.began
}

// take takes tokens for a hit of the cost, and returns the bucket, or nil if there are
// too few. A full bucket has enough for any cost, which later hits then wait for:
// what is allowed at once may cost more than the share.
func (l *local) take(r *Rule, key string, cost int64, now time.Time) *localBucket {
	if r.Quota == 0 {
		return nil
	}
	b, at, per := l.bucket(r, key), float64(now.Sub(l.began)), l.per(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	full := max(b.full, at)
	next := full + float64(cost)*per
	if full > at && next > at+max(1, float64(r.burst())*l.share)*per {
		return nil
	}
	b.full = next
	return b
}

func (l *local) give(b *localBucket, r *Rule, cost int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full -= float64(cost) * l.per(r)
}

// keepShare gives back what was taken for hits beyond the share of the limit, and returns how many are left.
func (l *local) keepShare(r *Rule, key string, taken int64) int64 {
	share := min(taken, max(1, int64(float64(r.burst())*l.share)))
	l.give(l.bucket(r, key), r, taken-share)
	return share
}

// per returns the time in nanoseconds in which a token flows in.
func (l *local) per(r *Rule) float64 { return float64(r.length()) / (float64(r.Quota) * l.share) }

func (l *local) bucket(r *Rule, key string) *localBucket {
	k := localKey{*r, maphash.String(l.seed, key)}
	if b, ok := l.buckets.Get(k); ok {
		return b
	}
	b := new(localBucket)
	if known, ok, _ := l.buckets.PeekOrAdd(k, b); ok {
		return known
	}
	return b
}

func (l *local) forget(r *Rule, key string) {
	if l != nil {
		l.buckets.Remove(localKey{*r, maphash.String(l.seed, key)})
	}
}
