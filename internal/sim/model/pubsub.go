package model

import (
	"bytes"
	"slices"
)

func init() {
	register("subscribe -2 pubsub,noscript,loading,stale 0 0 0", subscribe)
	register("unsubscribe -1 pubsub,noscript,loading,stale 0 0 0", unsubscribe)
	register("publish 3 pubsub,loading,stale,fast 0 0 0", publish)
}

func subscribe(c *call) {
	for _, arg := range c.args[1:] {
		if !slices.Contains(c.s.channels, string(arg)) {
			c.s.channels = append(c.s.channels, string(arg))
		}
		c.message("subscribe", arg, len(c.s.channels))
	}
}

// unsubscribe ends those that the command names, or all.
func unsubscribe(c *call) {
	names := slices.Clone(c.s.channels)
	if len(c.args) > 1 {
		names = nil
	}
	for _, arg := range c.args[1:] {
		names = append(names, string(arg))
	}
	for _, name := range names {
		c.s.channels = slices.DeleteFunc(c.s.channels, func(other string) bool { return other == name })
		c.message("unsubscribe", name, len(c.s.channels))
	}
	if len(names) == 0 {
		c.message("unsubscribe", nil, 0)
	}
}

// publish reaches the subscribers at all nodes, and replies how many are at this
// one.
func publish(c *call) {
	here, from := 0, len(c.b)
	for _, n := range c.n.c.nodes {
		switch {
		case n == c.n:
			here = n.publish(c.args[1], c.args[2], c)
		case n.member() && c.n.member():
			n.publish(c.args[1], c.args[2], c)
		}
	}
	own := bytes.Clone(c.b[from:]) // what it has told itself
	if c.dialect.newer {
		c.b = c.b[:from]
	}
	if c.int(int64(here)); c.dialect.newer {
		c.b = append(c.b, own...)
	}
}

// publish gives the node's subscribers a message, and returns how many times. by is nil if the
// node itself has something to say.
func (n *Node) publish(channel, text []byte, by *call) (receivers int) {
	for _, s := range n.sessions {
		if slices.Contains(s.channels, string(channel)) {
			message := reply{resp: s.out.resp}
			message.message("message", channel, text)
			s.send(message.b, by)
			receivers++
		}
	}
	return receivers
}

// send gives the session a message, behind the replies that it has.
func (s *Session) send(message []byte, by *call) {
	switch {
	case by != nil && s == by.s:
		by.b = append(by.b, message...)
	case s.deliver != nil:
		if len(s.out.b) > 0 {
			s.deliver(s.take())
		}
		s.deliver(message)
	}
}
