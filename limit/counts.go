package limit

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/redislanes/redislanes/limit/internal/window"
)

// counts is what a limiter knows of the keys that were used last.
type counts struct {
	epoch  time.Time // of the times of leases
	seed   maphash.Seed
	shards [nearShards]shard

	mu     sync.Mutex
	unsent []hit // refills that may wait
}

type shard struct {
	mu    sync.Mutex
	known *simplelru.LRU[uint64, *count]
}

func newCounts(keys int, evicted func(*count)) *counts {
	s := &counts{epoch: time.Now(), seed: maphash.MakeSeed()}
	for i := range s.shards {
		of := &s.shards[i]
		of.known, _ = simplelru.NewLRU(max(1, keys/nearShards), func(_ uint64, c *count) { evicted(c) }) // an error only for a size of 0
	}
	return s
}

func (s *counts) shard(hash uint64) *shard { return &s.shards[hash>>32%nearShards] }

// of returns the count of the limit's key. One with a long key is not remembered: the memory has a bound.
func (s *counts) of(limit *Limit, key string) *count {
	if len(key) > longKey {
		return &count{limit: limit, key: key}
	}
	hash := s.hash(limit, key)
	of := s.shard(hash)
	of.mu.Lock()
	c, ok := of.known.Get(hash)
	if !ok {
		c = &count{limit: limit, key: key, hash: hash}
		of.known.Add(hash, c)
	}
	of.mu.Unlock()
	if ok && (c.limit != limit || c.key != key) { // another one with this hash
		return &count{limit: limit, key: key}
	}
	return c
}

// known returns the count of the limit's key, or nil if there is none.
func (s *counts) known(limit *Limit, key string) *count {
	hash := s.hash(limit, key)
	of := s.shard(hash)
	of.mu.Lock()
	c, ok := of.known.Get(hash)
	of.mu.Unlock()
	if !ok || c.limit != limit || c.key != key {
		return nil
	}
	return c
}

func (s *counts) hash(limit *Limit, key string) uint64 {
	return maphash.String(s.seed, key) ^ limit.salt
}

// all returns the counts that match.
func (s *counts) all(match func(*count) bool) (all []*count) {
	for i := range s.shards {
		of := &s.shards[i]
		of.mu.Lock()
		for _, c := range of.known.Values() {
			if match(c) {
				all = append(all, c)
			}
		}
		of.mu.Unlock()
	}
	return all
}

// countOf returns the count of a key, locked, for a call in the window.
func (l *Limiter) countOf(limit *Limit, key string, w window.Window, now time.Time) *count {
	c := l.counts.of(limit, key)
	c.mu.Lock()
	if !c.roll(w, now.Sub(l.counts.epoch)) { // the call has begun in an earlier window than others, or the clock was set back
		c.mu.Unlock()
		c = &count{limit: limit, key: key}
		c.mu.Lock()
		c.roll(w, 0)
	}
	return c
}

// place returns the key in Redis.
func (c *count) place() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}
