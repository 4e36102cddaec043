package model

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

// SentinelPrimary is the name by which Sentinels know the primary.
const SentinelPrimary = "shop"

// sentinelCommands are the commands of a Sentinel. It tells clients which server without cluster
// mode is the primary. It hears of a failover as late as servers do, and causes none.
var sentinelCommands = make(map[string]*command)

func init() {
	for _, name := range []string{
		"ping", "hello", "auth", "client", "quit", "reset", "role", "subscribe", "unsubscribe",
	} {
		sentinelCommands[name] = commands[name]
	}
	for name, run := range map[string]func(c *call, primary *Node){
		"get-master-addr-by-name": func(c *call, primary *Node) { c.list(primary.host, strconv.Itoa(primary.port)) },
		"master":                  func(c *call, primary *Node) { c.instance(primary.addr, "master", c.n.view.failed[primary.index]) },
		"replicas":                listReplicas,
		"slaves":                  listReplicas,
		"sentinels":               listSentinels,
	} {
		registerIn(sentinelCommands, "sentinel|"+name+" 3 - 0 0 0", func(c *call) {
			switch {
			case string(c.args[2]) == SentinelPrimary:
				run(c, c.n.primary())
			case name == "get-master-addr-by-name":
				c.nullArray()
			default:
				c.err("ERR No such master with that name")
			}
		})
	}
}

// Sentinels returns the Sentinels. Of the faults of nodes they know Deaf: one that is cut off
// from the others.
func (c *Cluster) Sentinels() []*Node { return c.sentinels }

// primary returns which node the Sentinel takes for it.
func (n *Node) primary() *Node { return n.c.nodes[slices.Index(n.view.primary, -1)] }

// hear makes the Sentinel know a topology. If there is another primary, it tells its subscribers.
func (n *Node) hear(t *topology) {
	from := n.primary()
	n.view = t
	if to := n.primary(); to != from {
		n.publish([]byte("+switch-master"), fmt.Appendf(nil, "%s %s %d %s %d", SentinelPrimary, from.host, from.port, to.host, to.port), nil)
	}
}

func listReplicas(c *call, primary *Node) {
	replicas := slices.DeleteFunc(slices.Clone(c.n.c.nodes), func(n *Node) bool { return n == primary })
	c.array(len(replicas))
	for _, n := range replicas {
		c.instance(n.addr, "slave", c.n.view.failed[n.index] || !n.up())
	}
}

func listSentinels(c *call, _ *Node) {
	c.array(len(c.n.c.sentinels) - 1)
	for _, other := range c.n.c.sentinels {
		if other != c.n {
			c.instance(other.addr, "sentinel", false)
		}
	}
}

// instance replies what a client may know of a server.
func (c *call) instance(addr, flags string, down bool) {
	if down {
		flags = "s_down," + flags
	}
	host, port, _ := net.SplitHostPort(addr)
	c.mapOf(4)
	c.each("ip", host, "port", port, "flags", flags, "config-epoch", strconv.FormatUint(c.n.view.current, 10))
}

// role tells what the node is, as clients of Sentinels ask it.
func role(c *call) {
	switch p := c.n.source; {
	case c.n.sentinel:
		c.array(2)
		c.bulkString("sentinel")
		c.list(SentinelPrimary)
	case p == nil:
		c.array(3)
		c.each("master", 0)
		c.array(0)
	default:
		c.list("slave", p.host, p.port, "connected", 0)
	}
}
