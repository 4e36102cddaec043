package model

import (
	"bytes"
	"slices"
	"strconv"
)

func init() {
	register("hset -4 write,denyoom,fast 1 1 1", hset)
	register("hget 3 readonly,fast 1 1 1", held(kindHash, hget))
	register("hmget -3 readonly,fast 1 1 1", held(kindHash, hmget))
	register("hdel -3 write,fast 1 1 1", held(kindHash, hdel))
	register("hgetall 2 readonly 1 1 1", held(kindHash, hgetall))
	register("hlen 2 readonly,fast 1 1 1", sized(kindHash))
	register("hexists 3 readonly,fast 1 1 1", held(kindHash, hexists))
	register("hincrby 4 write,denyoom,fast 1 1 1", hincrby)
}

// setField reports whether the field is new.
func (e *entry) setField(name, value []byte) bool {
	if f := e.field(name); f != nil {
		f.value = bytes.Clone(value)
		return false
	}
	e.fields = append(e.fields, field{string(name), bytes.Clone(value)})
	return true
}

func hset(c *call) {
	if len(c.args)%2 == 1 {
		c.wrongArity()
		return
	}
	e := c.make(c.args[1], kindHash)
	if e == nil {
		return
	}
	added := int64(0)
	for i := 2; i < len(c.args); i += 2 {
		if e.setField(c.args[i], c.args[i+1]) {
			added++
		}
	}
	c.n.changed(string(c.args[1]))
	c.int(added)
}

func (c *call) fieldValue(e *entry, name []byte) {
	if f := e.field(name); f != nil {
		c.bulk(f.value)
		return
	}
	c.null()
}

func hget(c *call, e *entry) { c.fieldValue(e, c.args[2]) }

func hmget(c *call, e *entry) {
	c.array(len(c.args) - 2)
	for _, name := range c.args[2:] {
		c.fieldValue(e, name)
	}
}

func hdel(c *call, e *entry) {
	before := len(e.fields)
	for _, name := range c.args[2:] {
		e.fields = slices.DeleteFunc(e.fields, func(f field) bool { return f.name == string(name) })
	}
	c.removed(e, before-len(e.fields))
}

func hgetall(c *call, e *entry) {
	c.mapOf(len(e.fields))
	for _, f := range e.fields {
		c.each(f.name, f.value)
	}
}

func hexists(c *call, e *entry) { c.bool(e.field(c.args[2]) != nil) }

func hincrby(c *call) {
	n, ok := c.integer(c.args[3])
	if !ok {
		return
	}
	e, ok := c.held(kindHash)
	if !ok {
		return
	}
	var value int64
	if f := e.field(c.args[2]); f != nil {
		if value, ok = parseInt(f.value); !ok {
			c.err("ERR hash value is not an integer")
			return
		}
	}
	if overflows(value, n) {
		c.err(errOverflow)
		return
	}
	value += n
	c.make(c.args[1], kindHash).setField(c.args[2], strconv.AppendInt(nil, value, 10))
	c.n.changed(string(c.args[1]))
	c.int(value)
}
