package pipeline

// Waiting returns how many hits wait on the key.
func (c *Counters) Waiting(key string) int {
	name := fullKey{key: key}
	hash := name.hash(c.seed)
	s := c.stripe(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.findLocked(hash, name); k != nil {
		return len(k.waiting)
	}
	return 0
}
