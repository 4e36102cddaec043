package model

// shards replies one shard for each primary, with its replicas.
func shards(c *call) {
	t := c.n.tells()
	of := make(map[int][]slotRange)
	for _, r := range t.ranges() {
		of[r.owner] = append(of[r.owner], r)
	}
	var primaries []int
	for i, p := range t.primary {
		if p < 0 && (t.absent == nil || !t.absent[i]) {
			primaries = append(primaries, i)
		}
	}
	c.array(len(primaries))
	for _, p := range primaries {
		fields := 2
		if c.n.c.dialect().shardIDs {
			fields = 3
		}
		c.mapOf(fields)
		c.bulkString("slots")
		c.array(2 * len(of[p]))
		for _, r := range of[p] {
			c.each(r.first, r.last)
		}
		c.bulkString("nodes")
		members := []int{p}
		for i, q := range t.primary {
			if q == p {
				members = append(members, i)
			}
		}
		c.array(len(members))
		for _, i := range members {
			c.shardNode(t, i)
		}
		if fields == 3 {
			c.each("id", c.n.c.nodes[p].shard)
		}
	}
}

func (c *call) shardNode(t *topology, i int) {
	n := c.n.c.nodes[i]
	role, health := "master", "online"
	if t.primary[i] >= 0 {
		role = "replica"
	}
	if t.failed[i] {
		health = "fail"
	}
	c.mapOf(7)
	c.each("id", c.n.idOf(n), "port", n.port, "ip", n.host, "endpoint", n.host, "role", role,
		"replication-offset", int(n.logBase)+len(n.log), "health", health)
}
