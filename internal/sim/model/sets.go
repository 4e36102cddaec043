package model

import (
	"cmp"
	"maps"
	"slices"
)

func init() {
	register("sadd -3 write,denyoom,fast 1 1 1", sadd)
	register("srem -3 write,fast 1 1 1", held(kindSet, srem))
	register("smembers 2 readonly 1 1 1", held(kindSet, smembers))
	register("scard 2 readonly,fast 1 1 1", sized(kindSet))
	register("sismember 3 readonly,fast 1 1 1", held(kindSet, sismember))
}

func sadd(c *call) {
	e := c.make(c.args[1], kindSet)
	if e == nil {
		return
	}
	before := len(e.members)
	for _, member := range c.args[2:] {
		e.members[string(member)] = struct{}{}
	}
	added := len(e.members) - before
	if added > 0 {
		c.n.changed(string(c.args[1]))
	}
	c.int(int64(added))
}

func srem(c *call, e *entry) {
	before := len(e.members)
	for _, member := range c.args[2:] {
		delete(e.members, string(member))
	}
	c.removed(e, before-len(e.members))
}

// smembers replies in order, by value if all are integers, as small sets of a
// real server are; others have no order there.
func smembers(c *call, e *entry) {
	members := slices.Sorted(maps.Keys(e.members))
	number := func(s string) int64 { n, _ := parseInt([]byte(s)); return n }
	if !slices.ContainsFunc(members, func(s string) bool { _, ok := parseInt([]byte(s)); return !ok }) {
		slices.SortFunc(members, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	}
	c.set(len(members))
	for _, member := range members {
		c.bulkString(member)
	}
}

func sismember(c *call, e *entry) {
	_, is := e.members[string(c.args[2])]
	c.bool(is)
}
