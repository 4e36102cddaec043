package limit

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// local decides in this process while Redis cannot: each key has a token bucket
// with this instance's share of its limit. It is nil if there is none.
type local struct {
	share  float64 // of this instance
	began  time.Time
	seed   maphash.Seed
	shards []*lru.Cache[localKey, *localBucket]
}

// A localKey holds the rule, so that a limit whose rule has changed begins anew.
type localKey struct {
	rule Rule
	key  string
}

func newLocal(instances int) *local {
	if instances == 0 {
		return nil
	}
	l := &local{share: 1 / float64(instances), began: time.Now(), seed: maphash.MakeSeed()}
	for range nearShards {
		shard, _ := lru.New[localKey, *localBucket](localKeys / nearShards) // an error only for a size of 0
		l.shards = append(l.shards, shard)
	}
	return l
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
	b, at, per := l.bucket(r, key), l.at(now), l.per(r)
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

func (l *local) at(now time.Time) float64 { return float64(now.Sub(l.began)) }

// per returns the time in nanoseconds in which a token flows in.
func (l *local) per(r *Rule) float64 { return float64(r.length()) / (float64(r.Quota) * l.share) }

func (l *local) bucket(r *Rule, key string) *localBucket {
	key = bounded(l.seed, key)
	k := localKey{*r, key}
	shard := l.shards[maphash.String(l.seed, key)%nearShards]
	if b, ok := shard.Get(k); ok {
		return b
	}
	b := new(localBucket)
	if known, ok, _ := shard.PeekOrAdd(k, b); ok {
		return known
	}
	return b
}

func bounded(seed maphash.Seed, key string) string {
	if len(key) <= longKey {
		return key
	}
	return strconv.FormatUint(maphash.String(seed, key), 36)
}
