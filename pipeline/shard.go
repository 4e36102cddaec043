package pipeline

import "sync"

// A counterShard is the keys that are being counted now: a hash table with chains. Most keys are in it
// for one trip only, and a Go map took 6 % of the time of a hit to let a key in and out again.
type counterShard struct {
	mu     sync.Mutex // guards its keys, their sums, and the hits of these; never held across I/O
	chains []*key     // the first key of each
	n      int        // keys in them
	_      [64]byte   // a cache line for each shard's lock
}

func (c *Counters) shard(hash uint64) *counterShard { return &c.shards[hash%counterShards] }

// chainLocked returns the chain of the keys with that hash. There is a power of two of them.
func (s *counterShard) chainLocked(hash uint64) **key {
	return &s.chains[hash/counterShards&uint64(len(s.chains)-1)]
}

func (s *counterShard) findLocked(name fullKey, hash uint64) *key {
	k := *s.chainLocked(hash)
	for k != nil && (k.hash != hash || k.name != name) {
		k = k.other
	}
	return k
}

func (s *counterShard) linkLocked(k *key) {
	first := s.chainLocked(k.hash)
	k.other, *first = *first, k
}

func (c *Counters) addLocked(s *counterShard, name fullKey, hash uint64) *key {
	k := c.keys.Get().(*key)
	k.name, k.hash, k.slot, k.shard = name, hash, name.slot(), s
	s.linkLocked(k)
	if s.n++; s.n > len(s.chains)/2 {
		s.resizeLocked(2 * len(s.chains))
	}
	return k
}

func (c *Counters) removeLocked(k *key) {
	s := k.shard
	at := s.chainLocked(k.hash)
	for *at != k {
		at = &(*at).other
	}
	*at = k.other
	k.name, k.shard, k.other = fullKey{}, nil, nil
	c.keys.Put(k)
	if s.n--; s.n < len(s.chains)/8 && len(s.chains) > keptChains {
		s.resizeLocked(len(s.chains) / 2)
	}
}

func (s *counterShard) resizeLocked(chains int) {
	old := s.chains
	s.chains = make([]*key, chains)
	for _, k := range old {
		for k != nil {
			next := k.other
			s.linkLocked(k)
			k = next
		}
	}
}
