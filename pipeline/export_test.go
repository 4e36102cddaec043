package pipeline

// Waiting returns how many hits on the key wait for a flight of it to land
// before they can leave.
func (c *Counters) Waiting(key string) (n int) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.out[key]; l != nil {
		for _, f := range l.waiting {
			n += len(f.members)
		}
	}
	return n
}
