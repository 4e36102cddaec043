package model

import (
	"math"
)

func init() {
	register("expire -3 write,fast 1 1 1", func(c *call) { c.expireAfter(1000, false) })
	register("pexpire -3 write,fast 1 1 1", func(c *call) { c.expireAfter(1, false) })
	register("expireat -3 write,fast 1 1 1", func(c *call) { c.expireAfter(1000, true) })
	register("pexpireat -3 write,fast 1 1 1", func(c *call) { c.expireAfter(1, true) })
	register("persist 2 write,fast 1 1 1", persist)
	register("ttl 2 readonly,fast 1 1 1", func(c *call) { c.remaining(1000, false) })
	register("pttl 2 readonly,fast 1 1 1", func(c *call) { c.remaining(1, false) })
	register("expiretime 2 readonly,fast 1 1 1", func(c *call) { c.remaining(1000, true) })
	register("pexpiretime 2 readonly,fast 1 1 1", func(c *call) { c.remaining(1, true) })
}

// expireOptions are the conditions of EXPIRE.
type expireOptions struct{ nx, xx, gt, lt bool }

func (c *call) expireOptions() (o expireOptions, ok bool) {
	flags := map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt}
	for _, word := range c.args[3:] {
		flag := flags[upper(word)]
		if flag == nil {
			c.errorf("ERR Unsupported option %s", cString(word))
			return o, false
		}
		*flag = true
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		c.err("ERR NX and XX, GT or LT options at the same time are not compatible")
	case o.gt && o.lt:
		c.err("ERR GT and LT options at the same time are not compatible")
	default:
		return o, true
	}
	return o, false
}

// allow reports whether the conditions let an end of old, 0 for none, become when.
func (o expireOptions) allow(old, when int64) bool {
	return !(o.nx && old != 0 || o.xx && old == 0 || o.gt && (old == 0 || when <= old) || o.lt && old != 0 && when >= old)
}

func (c *call) expireAfter(unit int64, absolute bool) {
	o, ok := c.expireOptions()
	if !ok {
		return
	}
	when, ok := c.integer(c.args[2])
	if !ok {
		return
	}
	base := c.ms
	if absolute {
		base = 0
	}
	if when > math.MaxInt64/unit || when < math.MinInt64/unit || when*unit > math.MaxInt64-base {
		c.errorf("ERR invalid expire time in '%s' command", c.cmd.name)
		return
	}
	when = when*unit + base
	e := c.find(c.args[1])
	if e == nil || !o.allow(e.expire, when) {
		c.int(0)
		return
	}
	if when <= c.ms {
		c.n.remove(string(c.args[1]))
	} else {
		e.expire = when
		c.n.changed(string(c.args[1]))
	}
	c.int(1)
}

func persist(c *call) {
	e := c.find(c.args[1])
	if e == nil || e.expire == 0 {
		c.int(0)
		return
	}
	e.expire = 0
	c.n.changed(string(c.args[1]))
	c.int(1)
}

// remaining replies how long the key has, or when it ends.
func (c *call) remaining(unit int64, absolute bool) {
	e := c.find(c.args[1])
	switch {
	case e == nil:
		c.int(-2)
	case e.expire == 0:
		c.int(-1)
	default:
		ms := e.expire
		if !absolute {
			ms -= c.ms
		}
		c.int(int64(uint64(ms+unit/2) / uint64(unit)))
	}
}
