package model

import (
	"bytes"
	"math"
	"strconv"
)

func init() {
	register("get 2 readonly,fast 1 1 1", func(c *call) { c.get() })
	register("set -3 write,denyoom 1 1 1", set)
	register("setnx 3 write,denyoom,fast 1 1 1", setnx)
	register("setex 4 write,denyoom 1 1 1", func(c *call) { setex(c, 1000) })
	register("psetex 4 write,denyoom 1 1 1", func(c *call) { setex(c, 1) })
	register("getset 3 write,denyoom,fast 1 1 1", getset)
	register("getdel 2 write,fast 1 1 1", getdel)
	register("mget -2 readonly,fast 1 -1 1", mget)
	register("mset -3 write,denyoom 1 -1 2", func(c *call) { mset(c, false) })
	register("msetnx -3 write,denyoom 1 -1 2", func(c *call) { mset(c, true) })
	register("append 3 write,denyoom,fast 1 1 1", appendTo)
	register("strlen 2 readonly,fast 1 1 1", sized(kindString))
	register("incr 2 write,denyoom,fast 1 1 1", func(c *call) { c.add(1) })
	register("decr 2 write,denyoom,fast 1 1 1", func(c *call) { c.add(-1) })
	register("incrby 3 write,denyoom,fast 1 1 1", incrby)
	register("decrby 3 write,denyoom,fast 1 1 1", decrby)
}

// get replies with the string, and reports whether the key may hold one.
func (c *call) get() bool {
	e, ok := c.typed(c.args[1], kindString)
	switch {
	case !ok:
		return false
	case e == nil:
		c.null()
	default:
		c.bulk(e.str)
	}
	return true
}

// setString gives the key a string and an end, 0 for none.
func (c *call) setString(key, value []byte, expire int64) {
	c.n.put(string(key), &entry{str: bytes.Clone(value), expire: expire})
}

// setOptions are the words after SET's value.
type setOptions struct {
	nx, xx, get, keep bool
	unit              int64 // milliseconds in a unit of expire
	absolute          bool
	expire            []byte
}

// setOptions reads them; false if they make no sense together.
func (c *call) setOptions() (o setOptions, ok bool) {
	words := c.args[3:]
	how := ""
	for i := 0; i < len(words); i++ {
		more := i+1 < len(words)
		word := upper(words[i])
		switch {
		case word == "NX" && !o.xx:
			o.nx = true
		case word == "XX" && !o.nx:
			o.xx = true
		case word == "GET":
			o.get = true
		case word == "KEEPTTL" && how == "":
			o.keep = true
		case (word == "EX" || word == "PX" || word == "EXAT" || word == "PXAT") && !o.keep && (how == "" || how == word) && more:
			how = word
			i++
			o.expire = words[i]
		default:
			return o, false
		}
	}
	o.absolute = how == "EXAT" || how == "PXAT"
	if o.unit = 1; how == "EX" || how == "EXAT" {
		o.unit = 1000
	}
	return o, true
}

// endAfter reads the end that a SET gives its key; false if it has replied that it makes
// no sense.
func (c *call) endAfter(value []byte, unit int64, absolute bool) (int64, bool) {
	n, ok := c.integer(value)
	if !ok {
		return 0, false
	}
	base := c.ms
	if absolute {
		base = 0
	}
	if n <= 0 || n > math.MaxInt64/unit || n*unit > math.MaxInt64-base {
		c.errorf("ERR invalid expire time in '%s' command", c.cmd.name)
		return 0, false
	}
	return n*unit + base, true
}

func set(c *call) {
	o, ok := c.setOptions()
	if !ok {
		c.err(errSyntax)
		return
	}
	var expire int64
	if o.expire != nil {
		if expire, ok = c.endAfter(o.expire, o.unit, o.absolute); !ok {
			return
		}
	}
	if o.get && !c.get() {
		return
	}
	old := c.find(c.args[1])
	if o.nx && old != nil || o.xx && old == nil {
		if !o.get {
			c.null()
		}
		return
	}
	if o.keep && old != nil {
		expire = old.expire
	}
	c.setString(c.args[1], c.args[2], expire)
	if !o.get {
		c.ok()
	}
}

func setnx(c *call) {
	free := c.find(c.args[1]) == nil
	if free {
		c.setString(c.args[1], c.args[2], 0)
	}
	c.bool(free)
}

func setex(c *call, unit int64) {
	if expire, ok := c.endAfter(c.args[2], unit, false); ok {
		c.setString(c.args[1], c.args[3], expire)
		c.ok()
	}
}

func getset(c *call) {
	if c.get() {
		c.setString(c.args[1], c.args[2], 0)
	}
}

func getdel(c *call) {
	if c.get() {
		c.n.remove(string(c.args[1]))
	}
}

func mget(c *call) {
	c.array(len(c.args) - 1)
	for _, key := range c.args[1:] {
		if e := c.find(key); e != nil && e.kind == kindString {
			c.bulk(e.str)
		} else {
			c.null()
		}
	}
}

func mset(c *call, onlyNew bool) {
	if len(c.args)%2 == 0 {
		c.wrongArity()
		return
	}
	for i := 1; onlyNew && i < len(c.args); i += 2 {
		if c.find(c.args[i]) != nil {
			c.int(0)
			return
		}
	}
	for i := 1; i < len(c.args); i += 2 {
		c.setString(c.args[i], c.args[i+1], 0)
	}
	if onlyNew {
		c.int(1)
	} else {
		c.ok()
	}
}

func appendTo(c *call) {
	e, ok := c.typed(c.args[1], kindString)
	if !ok {
		return
	}
	var next entry
	if e != nil {
		next = *e
	}
	next.str = append(bytes.Clone(next.str), c.args[2]...)
	c.n.put(string(c.args[1]), &next)
	c.int(int64(len(next.str)))
}

func incrby(c *call) {
	if n, ok := c.integer(c.args[2]); ok {
		c.add(n)
	}
}

func decrby(c *call) {
	switch n, ok := c.integer(c.args[2]); {
	case !ok:
	case n == math.MinInt64:
		c.err("ERR decrement would overflow")
	default:
		c.add(-n)
	}
}

// add adds n to the integer at the key.
func (c *call) add(n int64) {
	e, ok := c.typed(c.args[1], kindString)
	if !ok {
		return
	}
	var value int64
	if e != nil {
		if value, ok = c.integer(e.str); !ok {
			return
		}
	}
	if overflows(value, n) {
		c.err(errOverflow)
		return
	}
	value += n
	digits := strconv.AppendInt(make([]byte, 0, 8), value, 10)
	if e != nil {
		e.str = digits
		c.n.changed(string(c.args[1]))
	} else {
		c.n.put(string(c.args[1]), &entry{str: digits})
	}
	c.int(value)
}

func overflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}
