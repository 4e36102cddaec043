package pipeline

// Waiting returns how many hits on the key wait for those under way to end
// before they can leave.
func (c *Counters) Waiting(key string) (n int) {
	hash := fullKey{key: key}.hash(c.seed)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.findLocked(fullKey{key: key}, hash); k != nil {
		for _, f := range k.waiting {
			n += len(f.hits)
		}
	}
	return n
}

// Together reports whether hits on both keys are under way in one pipeline.
func (c *Counters) Together(keys ...string) bool {
	all := make(map[*delivery]int)
	for _, key := range keys {
		hash := fullKey{key: key}.hash(c.seed)
		s := c.shard(hash)
		s.mu.Lock()
		if k := s.findLocked(fullKey{key: key}, hash); k != nil {
			for _, f := range k.out {
				all[f.delivery]++
			}
		}
		s.mu.Unlock()
	}
	for _, n := range all {
		if n == len(keys) {
			return true
		}
	}
	return false
}
