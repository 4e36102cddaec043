package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func init() {
	for text, run := range map[string]func(*call){
		"cluster|slots 2 stale 0 0 0":           clusterSlots,
		"cluster|shards 2 stale 0 0 0":          shards,
		"cluster|nodes 2 stale 0 0 0":           func(c *call) { c.text(c.nodes()) },
		"cluster|myid 2 stale 0 0 0":            func(c *call) { c.bulkString(c.n.idOf(c.n)) },
		"cluster|info 2 stale 0 0 0":            func(c *call) { c.text(c.clusterInfo()) },
		"cluster|keyslot 3 stale 0 0 0":         func(c *call) { c.int(int64(Slot(c.args[2]))) },
		"cluster|countkeysinslot 3 stale 0 0 0": countKeysInSlot,
		"cluster|getkeysinslot 4 stale 0 0 0":   getKeysInSlot,
		"readonly 1 loading,stale,fast 0 0 0":   func(c *call) { c.s.readOnly = true; c.ok() },
		"readwrite 1 loading,stale,fast 0 0 0":  func(c *call) { c.s.readOnly = false; c.ok() },
		"asking 1 fast 0 0 0":                   func(c *call) { c.s.asking = true; c.ok() },
	} {
		register(text, func(c *call) {
			if c.n.standalone {
				c.err("ERR This instance has cluster support disabled")
				return
			}
			run(c)
		})
	}
}

// tells is what the node tells of the slots.
func (n *Node) tells() *topology {
	if n.told == nil {
		return n.view
	}
	t := n.view.clone()
	for slot := range t.owner {
		t.owner[slot] = int16(n.told(uint16(slot), int(t.owner[slot])))
	}
	if n.outdated {
		for i := range t.epoch {
			t.epoch[i] = 1
		}
	}
	return t
}

func (n *Node) idOf(other *Node) string {
	if n == other && n.alias != "" {
		return n.alias
	}
	return other.id
}

func clusterSlots(c *call) {
	t := c.n.tells()
	ranges := t.ranges()
	more := c.n.c.odd.more()
	c.array(len(ranges))
	for _, r := range ranges {
		replicas := c.n.heard(t.replicas(r.owner))
		c.array(3 + len(replicas) + more)
		c.each(r.first, r.last)
		for _, i := range append([]int{r.owner}, replicas...) {
			n := c.n.c.nodes[i]
			var host any
			if !c.n.c.opts.Unnamed {
				host = n.host
			}
			c.array(4)
			c.each(host, n.port, c.n.idOf(n))
			c.metadata()
		}
		c.oddReplica()
	}
}

// heard returns replicas in the order in which the node has heard of them, which is not
// that of others.
func (n *Node) heard(replicas []int) []int {
	if len(replicas) < 2 {
		return replicas
	}
	first := n.index % len(replicas)
	return slices.Concat(replicas[first:], replicas[:first])
}

func (c *call) nodes() string {
	t := c.n.tells()
	of := make(map[int][]string)
	for _, r := range t.ranges() {
		text := fmt.Sprint(r.first)
		if r.last > r.first {
			text = fmt.Sprintf("%d-%d", r.first, r.last)
		}
		of[r.owner] = append(of[r.owner], text)
	}
	of[c.n.index] = append(of[c.n.index], c.n.open()...)
	var b strings.Builder
	for i, n := range c.n.c.nodes {
		if t.absent != nil && t.absent[i] {
			continue
		}
		flags, primary, link := "master", "-", "connected"
		if p := t.primary[i]; p >= 0 {
			flags, primary = "slave", c.n.c.nodes[p].id
		}
		if n == c.n {
			flags = "myself," + flags
		}
		if t.failed[i] {
			flags, link = flags+",fail", "disconnected"
		}
		epoch := t.epoch[i]
		if p := t.primary[i]; p >= 0 {
			epoch = t.epoch[p]
		}
		fmt.Fprintf(&b, "%s %s:%d@%d %s %s 0 %d %d %s", c.n.idOf(n), n.host, n.port, n.port+10000, flags, primary, c.ms, epoch, link)
		for _, r := range of[i] {
			b.WriteString(" " + r)
		}
		b.WriteByte('\n')
	}
	b.WriteString(c.oddLines(c.n.id))
	return b.String()
}

// open tells of the slots that are on their way, in order.
func (n *Node) open() (all []string) {
	if n.source != nil && n.c.dialect().newSlots {
		return n.source.open()
	}
	for _, slot := range slices.Sorted(maps.Keys(n.migrating)) {
		all = append(all, fmt.Sprintf("[%d->-%s]", slot, n.migrating[slot].id))
	}
	for _, slot := range slices.Sorted(maps.Keys(n.importing)) {
		all = append(all, fmt.Sprintf("[%d-<-%s]", slot, n.importing[slot].id))
	}
	return all
}

func (c *call) clusterInfo() string {
	t := c.n.tells()
	state := "ok"
	if c.n.isDown(c.now) {
		state = "fail"
	}
	assigned, owners, known := 0, make(map[int]bool), len(t.primary)
	for _, r := range t.ranges() {
		assigned += r.last - r.first + 1
		owners[r.owner] = true
	}
	for _, absent := range t.absent {
		if absent {
			known--
		}
	}
	mine := t.epoch[c.n.index]
	if p := t.primary[c.n.index]; p >= 0 {
		mine = t.epoch[p]
	}
	return fmt.Sprintf("cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n"+
		"cluster_known_nodes:%d\r\ncluster_size:%d\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n",
		state, assigned, assigned, known, len(owners), t.current, mine)
}

func countKeysInSlot(c *call) {
	switch slot, ok := c.integer(c.args[2]); {
	case !ok:
	case slot < 0 || slot >= SlotCount:
		c.err("ERR Invalid slot")
	default:
		c.int(int64(len(c.n.inSlot(uint16(slot)))))
	}
}

func getKeysInSlot(c *call) {
	slot, most, ok := c.integers(c.args[2], c.args[3])
	switch {
	case !ok:
		return
	case slot < 0 || slot >= SlotCount || most < 0:
		c.err("ERR Invalid slot or number of keys")
		return
	}
	keys := c.n.inSlot(uint16(slot))
	keys = keys[:min(most, int64(len(keys)))]
	c.array(len(keys))
	for _, key := range keys {
		c.bulkString(key)
	}
}
