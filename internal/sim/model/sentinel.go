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

// hear makes the Sentinel know what it has heard of by now.
func (s *Sentinel) hear(now time.Time) {
	for !s.deaf && len(s.learning) > 0 && !s.learning[0].at.After(now) {
		s.view, s.learning = s.learning[0].view, s.learning[1:]
	}
}

// Serve serves a connection, and closes it.
func (s *Sentinel) Serve(conn net.Conn) {
	defer conn.Close()
	var in parser
	out := reply{resp: 2}
	for {
		args, err := in.next()
		switch {
		case err != nil:
			return
		case args == nil:
			n, err := conn.Read(in.room())
			if err != nil {
				return
			}
			in.grew(n)
		case len(args) > 0:
			out.b = out.b[:0]
			s.reply(&out, args)
			if _, err := conn.Write(out.b); err != nil {
				return
			}
		}
	}
}

func (s *Sentinel) reply(r *reply, args [][]byte) {
	switch name := strings.ToLower(string(args[0])); {
	case name == "hello":
		if len(args) > 1 {
			r.resp = int(args[1][0] - '0')
		}
		r.mapOf(3)
		for _, word := range []string{"server", "redis", "mode", "sentinel", "role", "sentinel"} {
			r.bulkString(word)
		}
	case name == "client":
		r.ok()
	case name == "ping":
		r.status("PONG")
	case name == "sentinel" && len(args) == 3:
		s.tell(r, strings.ToLower(string(args[1])), args[2])
	default:
		r.errorf("ERR unknown command '%s', with args beginning with: ", cString(args[0]))
	}
}

// tell replies to the SENTINEL commands that clients need.
func (s *Sentinel) tell(r *reply, what string, name []byte) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.hear(time.Now())
	primary := slices.Index(s.view.primary, -1)
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
	case what == "replicas":
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
		r.errorf("ERR Unknown sentinel subcommand '%s'", what)
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
