package model

import (
	"path"
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

// scan's cursor is how many keys, in order, have been told: changes between two
// calls may hide or repeat some, as they may on a real server.
func scan(c *call) {
	cursor, ok := parseCursor(string(c.args[1]), c.n.c.dialect().strictCursors)
	if !ok {
		c.err("ERR invalid cursor")
		return
	}
	count, match, kind, ok := c.scanOptions()
	if !ok {
		return
	}
	c.n.purge(c.ms)
	keys := make([]string, 0, len(c.n.keys))
	for key := range c.n.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	from := min(cursor, uint64(len(keys)))
	to := min(from+uint64(count), uint64(len(keys)))
	next := to
	if to == uint64(len(keys)) {
		next = 0
	}
	told := slices.DeleteFunc(keys[from:to], func(key string) bool {
		e := c.n.keys[key]
		matched := match == ""
		if !matched {
			matched, _ = path.Match(match, key)
		}
		return e.expired(c.ms) || !matched || kind != "" && e.kind.String() != kind
	})
	c.array(2)
	c.bulkString(strconv.FormatUint(next, 10))
	c.array(len(told))
	for _, key := range told {
		c.bulkString(key)
	}
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

// scanOptions reads what follows the cursor; of patterns it knows those that
// package path does.
func (c *call) scanOptions() (count int64, match, kind string, ok bool) {
	count = 10
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
			count = n
		case word == "MATCH":
			match = string(words[1])
		case word == "TYPE":
			kind = string(words[1])
		default:
			c.err(errSyntax)
			return
		}
	}
	return count, match, kind, true
}
