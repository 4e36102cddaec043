package limit

import (
	"hash/maphash"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// local decides in this process while Redis cannot: each key has a token bucket
// with this instance's share of its limit. It is nil if there is none.
type local struct {
	instances int
	seed      maphash.Seed
	shards    []*lru.Cache[string, *rate.Limiter]
}

// localKeys bounds how many keys have a bucket at a time. One that is pushed out
// begins anew with a full one.
const localKeys = 100_000

func newLocal(instances int) *local {
	if instances == 0 {
		return nil
	}
	l := &local{instances: instances, seed: maphash.MakeSeed()}
	for range nearShards {
		shard, _ := lru.New[string, *rate.Limiter](localKeys / nearShards) // an error only for a size of 0
		l.shards = append(l.shards, shard)
	}
	return l
}

// take takes tokens, or returns nil if there are too few.
func (l *local) take(r *Rule, key string, cost int64, now time.Time) *rate.Reservation {
	taken := l.bucket(r, key).ReserveN(now, int(min(cost, math.MaxInt32)))
	if !taken.OK() {
		return nil
	}
	if taken.DelayFrom(now) > 0 {
		taken.CancelAt(now)
		return nil
	}
	return taken
}

func (l *local) bucket(r *Rule, key string) *rate.Limiter {
	key = r.Name + ":" + key
	shard := l.shards[maphash.String(l.seed, key)%nearShards]
	if b, ok := shard.Get(key); ok {
		return b
	}
	share := float64(l.instances)
	perSecond := rate.Limit(float64(r.Limit) / r.Window.Seconds() / share)
	b := rate.NewLimiter(perSecond, int(math.Ceil(float64(min(r.burst(), math.MaxInt32))/share)))
	if known, ok, _ := shard.PeekOrAdd(key, b); ok {
		return known
	}
	return b
}
