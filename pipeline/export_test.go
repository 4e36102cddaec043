package pipeline

import "hash/maphash"

// Waiting returns how many hits wait on the key.
func (c *Counters) Waiting(key string) int {
	hash := maphash.String(c.seed, key)
	s := c.stripe(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.findLocked(hash, key); k != nil {
		return len(k.waiting)
	}
	return 0
}
