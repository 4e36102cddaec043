package model

import "time"

// failoverTime is for how long a primary pauses writes for a failover; then it is
// given up.
const failoverTime = 5 * time.Second

// Failover makes a replica the primary of its shard at once, as if the primary
// had failed. If lossy, what the primary wrote and the replica has not applied
// yet is lost. The primary, if it is up, goes on as one until it hears of it; so
// do the other nodes. It reports false, and does nothing, if the node is no
// replica in truth.
func (c *Cluster) Failover(replica *Node, lossy bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.promote(replica, lossy, time.Now())
}

// FailoverGracefully is what CLUSTER FAILOVER at the replica does: the primary
// pauses writes, the replica catches up, and after that time they change roles,
// which both know at once. After more than 5 s it is given up, and writes go on.
func (c *Cluster) FailoverGracefully(replica *Node, after time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	p := c.truth.primary[replica.index]
	if p < 0 || !replica.reached() || !c.nodes[p].reached() {
		return false
	}
	old := c.nodes[p]
	old.pauseLocked(now.Add(2*failoverTime), false) // it ends below, and not by itself at the same time
	time.AfterFunc(min(after, failoverTime), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if after <= failoverTime && c.truth.primary[replica.index] == p && old.reached() && replica.reached() {
			c.promote(replica, false, time.Now(), old)
		}
		old.unpause()
	})
	return true
}

func (c *Cluster) promote(r *Node, lossy bool, now time.Time, told ...*Node) bool {
	p := c.truth.primary[r.index]
	if p < 0 {
		return false
	}
	old := c.nodes[p]
	r.settle(now)
	switch {
	case !lossy && r.source == old && r.inSync:
		r.apply(now)
	case !lossy:
		r.source = old
		r.fullSync()
	}
	c.loseDifferences(old, r)
	r.source, r.inSync = nil, false
	r.log, r.logBase = nil, r.logBase+uint64(len(r.log))
	c.change(now, func(t *topology) {
		for slot := range t.owner {
			if int(t.owner[slot]) == p {
				t.owner[slot] = int16(r.index)
			}
		}
		for i := range t.primary {
			if t.primary[i] == p {
				t.primary[i] = r.index
			}
		}
		t.primary[r.index], t.primary[p] = -1, r.index
		t.bump(r.index)
		t.failed[r.index], t.failed[p] = false, !old.up()
	}, append(told, r)...)
	c.forgetMigrations(old)
	if f := c.opts.Promoted; f != nil {
		f(r)
	}
	return true
}

// ReplicationLag sets how long replicas take to apply writes.
func (c *Cluster) ReplicationLag(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleAll(time.Now())
	c.lag = d
}

// GossipLag sets how long nodes take to learn of changes that they have no part
// in.
func (c *Cluster) GossipLag(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gossip = d
}
