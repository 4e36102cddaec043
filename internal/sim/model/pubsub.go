package model

import "slices"

func init() {
	register("subscribe -2 pubsub,noscript,loading,stale 0 0 0", func(c *call) { c.subscribe(&c.s.channels) })
	register("psubscribe -2 pubsub,noscript,loading,stale 0 0 0", func(c *call) { c.subscribe(&c.s.patterns) })
	register("unsubscribe -1 pubsub,noscript,loading,stale 0 0 0", func(c *call) { c.unsubscribe(&c.s.channels) })
	register("punsubscribe -1 pubsub,noscript,loading,stale 0 0 0", func(c *call) { c.unsubscribe(&c.s.patterns) })
	register("publish 3 pubsub,loading,stale,fast 0 0 0", publish)
}

// subscriptions is how many channels and patterns the session listens to.
func (s *Session) subscriptions() int { return len(s.channels) + len(s.patterns) }

func (c *call) subscribe(to *[]string) {
	for _, arg := range c.args[1:] {
		if !slices.Contains(*to, string(arg)) {
			*to = append(*to, string(arg))
		}
		c.message(c.cmd.name, arg, c.s.subscriptions())
	}
}

// unsubscribe ends those that the command names, or all.
func (c *call) unsubscribe(from *[]string) {
	names := slices.Clone(*from)
	if len(c.args) > 1 {
		names = nil
	}
	for _, arg := range c.args[1:] {
		names = append(names, string(arg))
	}
	for _, name := range names {
		*from = slices.DeleteFunc(*from, func(other string) bool { return other == name })
		c.message(c.cmd.name, name, c.s.subscriptions())
	}
	if len(names) == 0 {
		c.message(c.cmd.name, nil, c.s.subscriptions())
	}
}

// publish reaches the subscribers at all nodes, and replies how many are at this
// one.
func publish(c *call) {
	here := 0
	for _, n := range c.n.c.nodes {
		switch {
		case n == c.n:
			here = n.publish(c.args[1], c.args[2], c)
		case n.member() && c.n.member():
			n.publish(c.args[1], c.args[2], c)
		}
	}
	c.int(int64(here))
}

// publish gives the node's subscribers a message, and returns how many times. by is nil if the
// node itself has something to say.
func (n *Node) publish(channel, text []byte, by *call) (receivers int) {
	for _, s := range n.sessions {
		tell := func(words ...any) {
			message := reply{resp: s.out.resp}
			message.message(words...)
			s.send(message.b, by)
			receivers++
		}
		if slices.Contains(s.channels, string(channel)) {
			tell("message", channel, text)
		}
		for _, pattern := range s.patterns {
			if globs(pattern, string(channel)) {
				tell("pmessage", pattern, channel, text)
			}
		}
	}
	return receivers
}

// send gives the session a message, behind the replies that it has.
func (s *Session) send(message []byte, by *call) {
	switch {
	case by != nil && s == by.s && s.c.dialect().pushesLast:
		s.pushes = append(s.pushes, message...)
	case by != nil && s == by.s:
		by.b = append(by.b, message...)
	case s.deliver != nil:
		if len(s.out.b) > 0 {
			s.deliver(s.take())
		}
		s.deliver(message)
	}
}
