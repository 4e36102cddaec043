package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func init() {
	for text, run := range map[string]func(*call){
		"cluster|slots 2 stale 0 0 0":          clusterSlots,
		"cluster|nodes 2 stale 0 0 0":          func(c *call) { c.text(c.nodes()) },
		"cluster|myid 2 stale 0 0 0":           func(c *call) { c.bulkString(c.n.idOf(c.n)) },
		"cluster|keyslot 3 stale 0 0 0":        func(c *call) { c.int(int64(Slot(c.args[2]))) },
		"readonly 1 loading,stale,fast 0 0 0":  func(c *call) { c.s.readOnly = true; c.ok() },
		"readwrite 1 loading,stale,fast 0 0 0": func(c *call) { c.s.readOnly = false; c.ok() },
		"asking 1 fast 0 0 0":                  func(c *call) { c.s.asking = true; c.ok() },
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
	c.array(len(ranges))
	for _, r := range ranges {
		replicas := c.n.heard(t.replicas(r.owner))
		c.array(3 + len(replicas))
		c.each(r.first, r.last)
		for _, i := range append([]int{r.owner}, replicas...) {
			n := c.n.c.nodes[i]
			var host any
			if !c.n.c.opts.Unnamed {
				host = n.host
			}
			c.array(4)
			c.each(host, n.port, c.n.idOf(n))
			c.mapOf(0)
		}
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
	return b.String()
}

// open tells of the slots that are on their way key by key, in order.
func (n *Node) open() (all []string) {
	if n.source != nil && n.c.dialect.valkey { // which has told its replicas
		return n.source.open()
	}
	for _, slot := range slices.Sorted(maps.Keys(n.migrating)) {
		if to := n.leaving(slot); to != nil {
			all = append(all, fmt.Sprintf("[%d->-%s]", slot, to.id))
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(n.importing)) {
		if n.coming(slot) {
			all = append(all, fmt.Sprintf("[%d-<-%s]", slot, n.importing[slot].id))
		}
	}
	return all
}
