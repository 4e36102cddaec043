package limit

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/redislanes/redislanes/limit/internal/window"
)

// counts is what a limiter knows of the keys that were used last.
type counts struct {
	seed    maphash.Seed
	evicted func(*count)
	shards  [nearShards]shard

	mu     sync.Mutex
	unsent []hit // refills that may wait
}

// A shard is some of the keys. Those that are used again stay, by the clock algorithm (second chance): to look a key up
// moves nothing.
type shard struct {
	mu    sync.Mutex
	known map[uint64]*count
	ring  []*count // the same
	most  int      // so many at most
	hand  int      // on the one that gives way next, unless it was used
}

func newCounts(keys int, evicted func(*count)) *counts {
	s := &counts{seed: maphash.MakeSeed(), evicted: evicted}
	for i := range s.shards {
		s.shards[i] = shard{known: make(map[uint64]*count), most: max(1, keys/nearShards)}
	}
	return s
}

// of returns the count of the limit's key, or of another key with the same hash: [count.is] tells. The memory has a
// bound: one with a long key is not remembered.
func (s *counts) of(limit *Limit, key string) *count {
	if len(key) > longKey {
		return newCount(limit, key)
	}
	hash := s.hash(key) ^ limit.salt
	of := &s.shards[hash>>32%nearShards]
	of.mu.Lock()
	defer of.mu.Unlock()
	c := of.known[hash]
	if c == nil {
		c = newCount(limit, key)
		c.hash = hash
		if out := of.add(c); out != nil {
			s.evicted(out)
		}
	} else if !c.used {
		c.used = true
	}
	return c
}

// hash returns the hash of a key. That of a limit's key is salted.
func (s *counts) hash(key string) uint64 { return maphash.String(s.seed, key) }

// add remembers a count, and returns the one that gives way, if the memory is full.
func (s *shard) add(c *count) (out *count) {
	s.known[c.hash] = c
	if len(s.ring) < s.most {
		s.ring = append(s.ring, c)
		return nil
	}
	for s.ring[s.hand].used {
		s.ring[s.hand].used = false
		s.hand = (s.hand + 1) % len(s.ring)
	}
	out, s.ring[s.hand] = s.ring[s.hand], c
	s.hand = (s.hand + 1) % len(s.ring)
	delete(s.known, out.hash)
	return out
}

// all returns the counts that match.
func (s *counts) all(match func(*count) bool) (all []*count) {
	for i := range s.shards {
		of := &s.shards[i]
		of.mu.Lock()
		for _, c := range of.ring {
			if match(c) {
				all = append(all, c)
			}
		}
		of.mu.Unlock()
	}
	return all
}

// lock locks the count for a call on the limit's key in the window. It returns another one, that is not remembered, if
// the count is about another key, or if the call has begun in an earlier window than others, or the clock was set back.
func (c *count) lock(limit *Limit, key string, w window.Window, now time.Duration) *count {
	c.mu.Lock()
	if c.is(limit, key) && c.roll(w, now) {
		return c
	}
	c.mu.Unlock()
	c = newCount(limit, key)
	c.mu.Lock()
	c.roll(w, 0)
	return c
}

// isOf is [count.is] for callers that have not locked the count.
func (c *count) isOf(limit *Limit, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.is(limit, key)
}

// place returns the key in Redis.
func (c *count) place() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}
