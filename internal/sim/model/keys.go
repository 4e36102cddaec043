package model

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

func init() {
	register("del -2 write 1 -1 1", func(c *call) { c.count((*call).delete) })
	register("unlink -2 write,fast 1 -1 1", func(c *call) { c.count((*call).delete) })
	register("exists -2 readonly,fast 1 -1 1", func(c *call) { c.count((*call).exists) })
	register("touch -2 readonly,fast 1 -1 1", func(c *call) { c.count((*call).exists) })
	register("type 2 readonly,fast 1 1 1", typeOf)
	register("dbsize 1 readonly,fast 0 0 0", dbsize)
	register("flushall -1 write 0 0 0", flushall)
	register("flushdb -1 write 0 0 0", flushall)
	register("scan -2 readonly 0 0 0", scan)
}

func (c *call) exists(key []byte) bool { return c.find(key) != nil }
func (c *call) delete(key []byte) bool { return c.find(key) != nil && c.n.remove(string(key)) }

// count replies for how many keys of the command the function is true.
func (c *call) count(is func(*call, []byte) bool) {
	n := int64(0)
	for _, key := range c.args[1:] {
		if is(c, key) {
			n++
		}
	}
	c.int(n)
}

func typeOf(c *call) {
	if e := c.find(c.args[1]); e != nil {
		c.status(e.kind.String())
	} else {
		c.status("none")
	}
}

func dbsize(c *call) {
	c.n.purge(c.ms)
	c.int(int64(len(c.n.keys)))
}

func flushall(c *call) {
	if len(c.args) > 2 || len(c.args) == 2 && upper(c.args[1]) != "ASYNC" && upper(c.args[1]) != "SYNC" {
		c.err(errSyntax)
		return
	}
	c.n.clear()
	c.ok()
}

// scan goes through the keys by their hashes, and its cursor is the hash to go on at: keys that
// are there all the time are told, whatever is deleted or added between two calls.
func scan(c *call) {
	cursor, ok := parseCursor(string(c.args[1]), c.n.c.dialect().strictCursors)
	if !ok {
		c.err("ERR invalid cursor")
		return
	}
	o, ok := c.scanOptions()
	if !ok {
		return
	}
	c.n.purge(c.ms)
	var keys []hashed
	for key := range c.n.keys {
		if h := hashOf(key); h >= cursor {
			keys = append(keys, hashed{h, key})
		}
	}
	slices.SortFunc(keys, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.key, b.key)) })
	next := uint64(0)
	if int64(len(keys)) > o.count {
		next = keys[o.count-1].hash + 1
		keys = slices.DeleteFunc(keys, func(k hashed) bool { return k.hash >= next })
	}
	keys = slices.DeleteFunc(keys, func(k hashed) bool {
		e := c.n.keys[k.key]
		return e.expired(c.ms) || o.match != nil && !globs(*o.match, k.key) || o.kind != "" && !strings.EqualFold(e.kind.String(), o.kind)
	})
	c.array(2)
	c.bulkString(strconv.FormatUint(next, 10))
	c.array(len(keys))
	for _, k := range keys {
		c.bulkString(k.key)
	}
}

// A hashed is a key with what decides its place in a scan.
type hashed struct {
	hash uint64
	key  string
}

func hashOf(key string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return uint64(h.Sum32())
}

// parseCursor reads a cursor, unless it is strict as C's strtoul does: nothing is
// 0, and it may have a sign.
func parseCursor(s string, strict bool) (uint64, bool) {
	digits := strings.TrimPrefix(s, "+")
	negative := strings.HasPrefix(s, "-")
	if negative {
		digits = s[1:]
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if negative {
		n = -n
	}
	if strict {
		return n, err == nil && digits == s
	}
	return n, err == nil || s == ""
}

// scanOptions are what follows SCAN's cursor.
type scanOptions struct {
	count int64
	match *string // nil: every key
	kind  string
}

func (c *call) scanOptions() (o scanOptions, ok bool) {
	o.count = 10
	for words := c.args[2:]; len(words) > 0; words = words[2:] {
		switch word := upper(words[0]); {
		case len(words) < 2:
			c.err(errSyntax)
			return
		case word == "COUNT":
			n, isInt := c.integer(words[1])
			if !isInt {
				return
			}
			if n < 1 {
				c.err(errSyntax)
				return
			}
			o.count = n
		case word == "MATCH":
			match := string(words[1])
			o.match = &match
		case word == "TYPE":
			o.kind = string(words[1])
		default:
			c.err(errSyntax)
			return
		}
	}
	return o, true
}
