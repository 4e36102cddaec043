package model

import "slices"

func init() {
	register("subscribe -2 pubsub,noscript,loading,stale 0 0 0", subscribe)
	register("unsubscribe -1 pubsub,noscript,loading,stale 0 0 0", unsubscribe)
	register("publish 3 pubsub,loading,stale,fast 0 0 0", publish)
}

func subscribe(c *call) {
	s := c.s
	for _, arg := range c.args[1:] {
		channel := string(arg)
		if !slices.Contains(s.channels, channel) {
			s.channels = append(s.channels, channel)
			s.n.channels[channel] = append(s.n.channels[channel], s)
		}
		c.push(3)
		c.bulkString("subscribe")
		c.bulk(arg)
		c.int(int64(len(s.channels)))
	}
}

func unsubscribe(c *call) {
	s := c.s
	names := make([]string, 0, len(c.args))
	for _, arg := range c.args[1:] {
		names = append(names, string(arg))
	}
	if len(names) == 0 {
		names = slices.Clone(s.channels)
	}
	if len(names) == 0 {
		c.push(3)
		c.bulkString("unsubscribe")
		c.null()
		c.int(0)
	}
	for _, channel := range names {
		s.unsubscribe(channel)
		c.push(3)
		c.bulkString("unsubscribe")
		c.bulkString(channel)
		c.int(int64(len(s.channels)))
	}
}

func (s *Session) unsubscribe(channel string) {
	s.channels = slices.DeleteFunc(s.channels, func(other string) bool { return other == channel })
	left := slices.DeleteFunc(s.n.channels[channel], func(other *Session) bool { return other == s })
	if len(left) == 0 {
		delete(s.n.channels, channel)
	} else {
		s.n.channels[channel] = left
	}
}

func (s *Session) unsubscribeAll() {
	for _, channel := range slices.Clone(s.channels) {
		s.unsubscribe(channel)
	}
}

// publish reaches the subscribers at all nodes, and replies how many are at this
// one.
func publish(c *call) {
	for _, n := range c.n.c.nodes {
		if n != c.n && (!n.member() || !c.n.member()) {
			continue
		}
		for _, s := range n.channels[string(c.args[1])] {
			message := reply{resp: s.out.resp}
			message.push(3)
			message.bulkString("message")
			message.bulk(c.args[1])
			message.bulk(c.args[2])
			c.send(s, message.b)
		}
	}
	c.int(int64(len(c.n.channels[string(c.args[1])])))
}

// send gives a session a message, behind the replies that it has.
func (c *call) send(s *Session, message []byte) {
	switch {
	case s == c.s && c.n.c.dialect().pushesLast:
		s.pushes = append(s.pushes, message...)
	case s == c.s:
		c.b = append(c.b, message...)
	case s.deliver != nil:
		if len(s.out.b) > 0 {
			s.deliver(s.take())
		}
		s.deliver(message)
	}
}
