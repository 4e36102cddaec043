package pipeline

import "time"

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

// Debts returns how many keys may be without their time to live.
func (c *Counters) Debts() int {
	c.debts.mu.Lock()
	defer c.debts.mu.Unlock()
	return len(c.debts.keys)
}

// Paying reports whether anything is done about them.
func (c *Counters) Paying() bool {
	c.debts.mu.Lock()
	defer c.debts.mu.Unlock()
	return c.debts.paying
}

// FillDebts makes as many keys wait for their time to live as are remembered.
func (c *Counters) FillDebts(keys func(i int) string) {
	c.debts.mu.Lock()
	defer c.debts.mu.Unlock()
	c.debts.keys, c.debts.paying = make(map[string]debt), true // nobody pays
	for i := range mostDebts {
		c.debts.keys[keys(i)] = debt{until: time.Now().Add(debtLife)}
	}
}
