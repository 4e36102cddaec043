package model

import (
	"bytes"
	"slices"
)

func init() {
	register("lpush -3 write,denyoom,fast 1 1 1", func(c *call) { c.pushAll(true) })
	register("rpush -3 write,denyoom,fast 1 1 1", func(c *call) { c.pushAll(false) })
	register("lpop -2 write,fast 1 1 1", func(c *call) { c.pop(true) })
	register("rpop -2 write,fast 1 1 1", func(c *call) { c.pop(false) })
	register("llen 2 readonly,fast 1 1 1", sized(kindList))
	register("lrange 4 readonly 1 1 1", lrange)
	register("lindex 3 readonly 1 1 1", held(kindList, lindex))
	register("lmove 5 write,denyoom 1 2 1", func(c *call) { c.move() })
}

// insert adds a value at one end of the list.
func (e *entry) insert(left bool, value []byte) {
	if left {
		e.list = slices.Insert(e.list, 0, bytes.Clone(value))
	} else {
		e.list = append(e.list, bytes.Clone(value))
	}
}

// take removes the value at one end of the list, which is not empty.
func (e *entry) take(left bool) []byte {
	i := len(e.list) - 1
	if left {
		i = 0
	}
	value := e.list[i]
	e.list = slices.Delete(e.list, i, i+1)
	return value
}

// make returns the key's entry of the kind, a new one if there is none; nil if it
// has replied that the key holds something else.
func (c *call) make(key []byte, k kind) *entry {
	e, ok := c.typed(key, k)
	if ok && e == nil {
		e = &entry{kind: k}
		if k == kindZset {
			e.scores = make(map[string]float64)
		}
		c.n.keys[string(key)] = e
	}
	return e
}

// shrunk notes that the key's collection has fewer elements.
func (c *call) shrunk(key []byte, e *entry) {
	if e.size() == 0 {
		c.n.remove(string(key))
	} else {
		c.n.changed(string(key))
	}
}

// removed answers how many elements the first key's collection has lost.
func (c *call) removed(e *entry, n int) {
	if n > 0 {
		c.shrunk(c.args[1], e)
	}
	c.int(int64(n))
}

func (c *call) pushAll(left bool) {
	e := c.make(c.args[1], kindList)
	if e == nil {
		return
	}
	for _, value := range c.args[2:] {
		e.insert(left, value)
	}
	c.n.changed(string(c.args[1]))
	c.n.ready = true
	c.int(int64(len(e.list)))
}

func (c *call) pop(left bool) {
	if len(c.args) > 3 {
		c.wrongArity()
		return
	}
	count, counted := int64(1), len(c.args) == 3
	if counted {
		n, ok := parseInt(c.args[2])
		if !ok || n < 0 {
			c.err(errNotPositive)
			return
		}
		count = n
	}
	e, ok := c.typed(c.args[1], kindList)
	switch {
	case !ok:
	case e == nil && counted:
		c.nullArray()
	case e == nil:
		c.null()
	case !counted:
		c.bulk(e.take(left))
		c.shrunk(c.args[1], e)
	default:
		count = min(count, int64(len(e.list)))
		c.array(int(count))
		for range count {
			c.bulk(e.take(left))
		}
		if count > 0 {
			c.shrunk(c.args[1], e)
		}
	}
}

func lrange(c *call) {
	first, last, ok := c.integers(c.args[2], c.args[3])
	if !ok {
		return
	}
	e, ok := c.held(kindList)
	if !ok {
		return
	}
	list := between(e.list, first, last)
	c.array(len(list))
	for _, value := range list {
		c.bulk(value)
	}
}

// between returns the elements from first to last. Negative numbers count from the end.
func between[T any](list []T, first, last int64) []T {
	n := int64(len(list))
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	if last = min(last, n-1); first > last {
		return nil
	}
	return list[first : last+1]
}

func lindex(c *call, e *entry) {
	if e.size() == 0 {
		c.null()
		return
	}
	i, ok := c.integer(c.args[2])
	if i < 0 {
		i += int64(len(e.list))
	}
	switch {
	case !ok:
	case i < 0 || i >= int64(len(e.list)):
		c.null()
	default:
		c.bulk(e.list[i])
	}
}

// side reads LEFT or RIGHT.
func (c *call) side(word []byte) (left, ok bool) {
	switch upper(word) {
	case "LEFT":
		return true, true
	case "RIGHT":
		return false, true
	}
	c.err(errSyntax)
	return false, false
}

// move is LMOVE, and BLMOVE where there is something to move; moved is false if
// there is not.
func (c *call) move() (moved bool) {
	from, ok := c.side(c.args[3])
	if !ok {
		return true
	}
	to, ok := c.side(c.args[4])
	if !ok {
		return true
	}
	e, ok := c.typed(c.args[1], kindList)
	switch {
	case !ok:
		return true
	case e == nil:
		if c.cmd.name == "lmove" {
			c.null()
		}
		return false
	}
	target := c.make(c.args[2], kindList)
	if target == nil {
		return true
	}
	value := e.take(from)
	target.insert(to, value)
	c.shrunk(c.args[1], e)
	c.n.changed(string(c.args[2]))
	c.n.ready = true
	c.bulk(value)
	return true
}
