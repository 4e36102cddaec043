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
