package model

import (
	"maps"
	"time"
)

// An effect is what a write made of a key: its entry then, nil if it was deleted.
type effect struct {
	at    time.Time
	key   string
	entry *entry
	all   bool // every key was deleted
}

// keepEffects is how many effects a primary gathers before it looks for replicas
// that are due.
const keepEffects = 64

// record notes a change for the node's replicas, and what is lost because
// somebody else owns the slot in truth.
func (n *Node) record(key string) {
	c := n.c
	if n.own != nil {
		c.lost[key] = time.Now()
	}
	if n.source != nil || n.own != nil {
		return
	}
	if owner := c.truth.owner[Slot([]byte(key))]; int(owner) != n.index && (owner < 0 || c.nodes[owner].migrating[Slot([]byte(key))] != n) {
		c.lost[key] = time.Now()
	}
	if c.opts.Replicas == 0 {
		return
	}
	e := n.keys[key]
	if e != nil {
		e = e.clone()
	}
	n.append(effect{key: key, entry: e})
}

func (n *Node) recordClear() {
	if n.source == nil && n.own == nil && n.c.opts.Replicas > 0 {
		n.append(effect{all: true})
	}
}

func (n *Node) append(e effect) {
	e.at = time.Now()
	n.log = append(n.log, e)
	if len(n.log)%keepEffects == 0 {
		n.trim(e.at)
	}
}

// trim drops the effects that all replicas have applied. One without a link will
// get everything anew.
func (n *Node) trim(now time.Time) {
	done := n.logBase + uint64(len(n.log))
	for _, r := range n.c.nodes {
		if r.source != n {
			continue
		}
		if !r.linked() {
			r.inSync = false
			continue
		}
		if r.replicate(now); r.inSync {
			done = min(done, r.offset)
		}
	}
	n.log = append([]effect(nil), n.log[done-n.logBase:]...)
	n.logBase = done
}

// reached tells whether other nodes reach it.
func (n *Node) reached() bool { return n.up() && !n.cutOff }

// linked tells whether the replica has a connection to its primary, and both are in the cluster.
func (n *Node) linked() bool {
	return !n.masterDown && n.reached() && n.source.member() && !n.source.cutOff
}

// replicate applies what the node's primary wrote a lag ago.
func (n *Node) replicate(now time.Time) {
	if !n.linked() {
		return
	}
	if !n.inSync {
		n.fullSync()
		return
	}
	n.apply(now.Add(-n.c.lag))
}

// apply applies what was written until then.
func (n *Node) apply(until time.Time) {
	p := n.source
	if n.offset < p.logBase { // it has become a replica itself, and forgotten its log
		n.fullSync()
		return
	}
	for n.offset < p.logBase+uint64(len(p.log)) {
		e := &p.log[n.offset-p.logBase]
		if e.at.After(until) {
			return
		}
		n.offset++
		switch {
		case e.all:
			clear(n.keys)
		case e.entry == nil:
			delete(n.keys, e.key)
		default:
			n.keys[e.key] = e.entry.clone()
		}
		n.touch(e.key, e.entry == nil)
	}
}

// fullSync makes the node a copy of its primary.
func (n *Node) fullSync() {
	p := n.source
	n.keys = make(map[string]*entry, len(p.keys))
	for key, e := range p.dataset() {
		n.keys[key] = e.clone()
	}
	n.offset, n.inSync = p.logBase+uint64(len(p.log)), true
	maps.Copy(n.scripts, p.scripts)
}

// demote makes the node a replica of another one. What it alone has is lost.
func (n *Node) demote(p *Node, now time.Time) {
	if n.source == nil {
		n.c.loseDifferences(n, p)
	}
	if !n.c.dialect.valkey || n.standalone { // otherwise it redirects them
		n.hangUpBlocked()
	}
	n.source, n.inSync, n.log, n.logBase = p, false, nil, n.logBase+uint64(len(n.log))
	clear(n.migrating)
	clear(n.importing)
	n.replicate(now)
}

// loseDifferences notes the keys with other values at one node than at the other
// as those with lost writes.
func (c *Cluster) loseDifferences(a, b *Node) {
	for key, e := range a.dataset() {
		if !e.equals(b.dataset()[key]) {
			c.lost[key] = time.Now()
		}
	}
	for key := range b.dataset() {
		if a.dataset()[key] == nil {
			c.lost[key] = time.Now()
		}
	}
}

// dataset returns the keys that the node has as a member of the cluster.
func (n *Node) dataset() map[string]*entry {
	if n.own != nil {
		return n.own
	}
	return n.keys
}
