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

// of returns the count of the limit's key. The memory has a bound: one with a long key is not remembered.
func (s *counts) of(limit *Limit, key string) *count {
	if c := s.known(limit, key, len(key) <= longKey); c != nil {
		return c
	}
	return &count{limit: limit, key: key}
}

// known returns the count of the limit's key. If it is not remembered, it is made with add, else nil.
func (s *counts) known(limit *Limit, key string, add bool) *count {
	hash := maphash.String(s.seed, key) ^ limit.salt
	of := &s.shards[hash>>32%nearShards]
	of.mu.Lock()
	defer of.mu.Unlock()
	c, ok := of.known.Get(hash)
	if !ok && add {
		c = &count{limit: limit, key: key, hash: hash}
		of.known.Add(hash, c)
	}
	if c == nil || c.limit != limit || c.key != key { // another one with this hash
		return nil
	}
	return c
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
