package model

import (
	"math"
	"slices"
	"time"
)

func init() {
	register("blpop -3 write,noscript,blocking 1 -2 1", nil)
	register("brpop -3 write,noscript,blocking 1 -2 1", nil)
	register("blmove 6 write,denyoom,noscript,blocking 1 2 1", nil)
}

// block runs a command that waits for an element of a list, and returns what to
// wait for if there is none; in a transaction there is no waiting.
func (c *call) block() *parked {
	pop, fail := popFirst, (*call).nullArray2
	keys := c.args[1 : len(c.args)-1]
	if c.cmd.name == "blmove" {
		pop, fail, keys = (*call).move, (*call).null2, c.args[1:2]
		for _, word := range c.args[3:5] {
			if _, ok := c.side(word); !ok {
				return nil
			}
		}
	}
	wait, ok := c.timeout(c.args[len(c.args)-1])
	if !ok || pop(c) {
		return nil
	}
	if c.nested {
		fail(c)
		return nil
	}
	p := &parked{s: c.s, args: c.args, keys: keys, wake: make(chan struct{}), pop: pop, expire: fail, out: reply{resp: c.resp, dialect: c.dialect}}
	if wait > 0 {
		p.until = c.now.Add(wait)
	}
	c.n.blocked = append(c.n.blocked, p)
	return p
}

func (c *call) nullArray2() { c.nullArray() }
func (c *call) null2()      { c.null() }

// timeout reads seconds; false if it has replied that they are none.
func (c *call) timeout(arg []byte) (time.Duration, bool) {
	switch seconds, ok := parseFloat(arg); {
	case !ok && !math.IsInf(seconds, 0):
		c.err("ERR timeout is not a float or out of range")
	case seconds < 0 || seconds*1000 >= math.MaxInt64: // which servers add to the time until it overflows
		c.err("ERR timeout is negative")
	default:
		return milliseconds(int64(math.Ceil(seconds * 1000))), true
	}
	return 0, false
}

// milliseconds is the time of so many, at most what a Duration can be.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// popFirst pops from the first of the command's lists that is there; false if
// none is.
func popFirst(c *call) bool {
	for _, key := range c.args[1 : len(c.args)-1] {
		e, ok := c.typed(key, kindList)
		switch {
		case !ok:
			return true
		case e == nil:
			continue
		}
		c.array(2)
		c.bulk(key)
		c.bulk(e.take(c.cmd.name == "blpop"))
		c.shrunk(key, e)
		return true
	}
	return false
}

// serveBlocked gives new elements to those who have waited longest.
func (n *Node) serveBlocked(now time.Time) {
	for n.ready {
		n.ready = false
		for _, p := range slices.Clone(n.blocked) {
			n.serve(p, now)
		}
	}
}

func (n *Node) serve(p *parked, now time.Time) {
	ms := now.UnixMilli()
	if !slices.ContainsFunc(p.keys, func(key []byte) bool {
		e := n.find(key, ms)
		return e != nil && e.kind == kindList
	}) {
		return
	}
	c := &p.s.call
	c.reply = &p.out
	c.now, c.ms, c.cmd, c.args, c.nested = now, ms, n.lookup(p.args), p.args, false
	if p.pop(c) {
		c.tell(0)
		p.finish()
	}
}

// finish lets the client go on, whose reply is written.
func (p *parked) finish() {
	p.s.n.forget(p)
	p.done = true
	close(p.wake)
}

// hangUpBlocked sends those away who wait for elements, as a primary does that
// becomes a replica.
func (n *Node) hangUpBlocked() {
	for _, p := range slices.Clone(n.blocked) {
		p.out.err("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)")
		p.hangUp = true
		p.finish()
	}
}

func (n *Node) forget(p *parked) {
	n.blocked = slices.DeleteFunc(n.blocked, func(other *parked) bool { return other == p })
}
