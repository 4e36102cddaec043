package pipeline

// Waiting returns how many hits on the key wait for a flight of it to land
// before they can leave.
func (c *Counters) Waiting(key string) (n int) {
	hash := fullKey{key: key}.hash(c.seed)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.findLocked(fullKey{key: key}, hash); l != nil {
		for _, f := range l.waiting {
			n += len(f.members)
		}
	}
	return n
}
