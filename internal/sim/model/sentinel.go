package model

import (
	"bytes"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Sentinel tells clients who the primary is, of servers without cluster mode. It
// hears of a failover as late as servers do. That the truth changes is not its doing.
// All methods are safe for concurrent use.
type Sentinel struct {
	c        *Cluster
	addr     string
	view     *topology
	learning []lesson
	deaf     bool

	listeners []*listener // those that have subscribed
}

// SentinelPrimary is the name by which Sentinels know the primary.
const SentinelPrimary = "shop"

// Sentinels returns them.
func (c *Cluster) Sentinels() []*Sentinel { return c.sentinels }

// Addr returns the Sentinel's address.
func (s *Sentinel) Addr() string { return s.addr }

// Deaf makes the Sentinel hear of no change, as one that is cut off from the others.
func (s *Sentinel) Deaf(yes bool) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.deaf = yes
}

// hear makes the Sentinel know what it has heard of by now, and tells its listeners.
func (s *Sentinel) hear(now time.Time) {
	for !s.deaf && len(s.learning) > 0 && !s.learning[0].at.After(now) {
		before := s.primary()
		s.view, s.learning = s.learning[0].view, s.learning[1:]
		if after := s.primary(); after != before {
			s.switched(before, after)
		}
	}
}

// primary returns which node the Sentinel takes for it.
func (s *Sentinel) primary() *Node { return s.c.nodes[slices.Index(s.view.primary, -1)] }

func (s *Sentinel) answer(l *listener, args [][]byte) {
	switch name := strings.ToLower(string(args[0])); {
	case name == "hello":
		s.hello(l, args)
	case name == "client":
		l.ok()
	case name == "ping":
		l.ping(args)
	case name == "role":
		l.array(2)
		l.bulkString("sentinel")
		l.array(1)
		l.bulkString(SentinelPrimary)
	case name == "subscribe" || name == "unsubscribe":
		s.subscribe(l, name, &l.channels, args[1:], name == "subscribe")
	case name == "psubscribe" || name == "punsubscribe":
		s.subscribe(l, name, &l.patterns, args[1:], name == "psubscribe")
	case name == "sentinel" && len(args) == 3:
		s.tell(&l.reply, args)
	case name == "sentinel" && len(args) > 1:
		l.err(unknownSub(args))
	default:
		l.err(unknownCommand(args))
	}
}

// tell replies to the SENTINEL commands that clients need.
func (s *Sentinel) tell(r *reply, args [][]byte) {
	what, name := strings.ToLower(string(args[1])), args[2]
	s.hear(time.Now())
	primary := s.primary().index
	known := bytes.Equal(name, []byte(SentinelPrimary))
	switch {
	case what == "get-master-addr-by-name" && !known:
		r.nullArray()
	case !known:
		r.err("ERR No such master with that name")
	case what == "get-master-addr-by-name":
		r.array(2)
		r.bulkString(s.c.nodes[primary].host)
		r.bulkString(strconv.Itoa(s.c.nodes[primary].port))
	case what == "master":
		s.instance(r, s.c.nodes[primary].addr, "master", s.view.failed[primary])
	case what == "replicas" || what == "slaves":
		replicas := slices.DeleteFunc(slices.Clone(s.c.nodes), func(n *Node) bool { return n.index == primary })
		r.array(len(replicas))
		for _, n := range replicas {
			s.instance(r, n.addr, "slave", s.view.failed[n.index] || !n.up())
		}
	case what == "sentinels":
		r.array(len(s.c.sentinels) - 1)
		for _, other := range s.c.sentinels {
			if other != s {
				s.instance(r, other.addr, "sentinel", false)
			}
		}
	default:
		r.err(unknownSub(args))
	}
}

// instance replies what a client may know of a server.
func (s *Sentinel) instance(r *reply, addr, flags string, down bool) {
	if down {
		flags = "s_down," + flags
	}
	host, port, _ := net.SplitHostPort(addr)
	r.mapOf(4)
	for _, word := range []string{"ip", host, "port", port, "flags", flags, "config-epoch", strconv.FormatUint(s.view.current, 10)} {
		r.bulkString(word)
	}
}

// role tells what the node is, as clients of Sentinels ask it.
func role(c *call) {
	if c.n.source == nil {
		c.array(3)
		c.bulkString("master")
		c.int(0)
		c.array(0)
		return
	}
	c.array(5)
	c.bulkString("slave")
	c.bulkString(c.n.source.host)
	c.int(int64(c.n.source.port))
	c.bulkString("connected")
	c.int(0)
}
