package model

import "strings"

// A Dialect is the server whose replies the model gives.
type Dialect uint8

// The servers that the model knows.
const (
	Redis70  Dialect = iota // redis-server 7.0
	Valkey91                // valkey-server 9.1
)

// dialect is where replies differ.
type dialect struct {
	name, version   string
	product         string // in texts
	movesBlocked    bool   // a primary that becomes a replica redirects clients that wait for elements
	mapWhileLoading bool
	lua             bool // scripts' language is a module
	noScript        string
	inScript        string // after an error in a script; %s is its SHA-1, %l the line
	waitAtReplica   string
	helloUnknown    string
	noNil           string          // in a script
	helloWhole      bool            // HELLO is read whole before it does anything
	authFirst       bool            // strangers are not told which commands there are
	notInMulti      map[string]bool // commands that a transaction refuses before anything else
	newSlots        bool            // replicas know of migrations, and nobody looks for the keys of commands that are queued
	oomInMulti      bool            // without memory, nothing is queued
	strictCursors   bool            // of SCAN: numbers only
	shardIDs        bool
	pushesLast      bool   // a client that publishes to itself gets the reply before the message
	databases       int64  // how many a member of a cluster has; with 0, SELECT accepts any number
	nonLocal        string // a script reaches for keys that the node does not serve
	localFirst      bool   // it is told that before anything else about the command
}

var dialects = [...]dialect{
	Redis70: {
		name: "redis", product: "Redis", version: "7.0.15", oomInMulti: true,
		noScript:      "NOSCRIPT No matching script. Please use EVAL.",
		inScript:      " script: %s, on @user_script:%l.",
		waitAtReplica: "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.",
		helloUnknown:  "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
		noNil:         "ERR Lua redis lib command arguments must be strings or integers",
		nonLocal:      "ERR Script attempted to access a non local key in a cluster node",
	},
	Valkey91: {
		name: "valkey", product: "Valkey", movesBlocked: true, mapWhileLoading: true, version: "9.1.2", lua: true, databases: 1, newSlots: true, strictCursors: true, authFirst: true, localFirst: true, helloWhole: true, shardIDs: true, pushesLast: true,
		notInMulti:    map[string]bool{"multi": true, "watch": true, "client|reply": true},
		noScript:      "NOSCRIPT No matching script.",
		inScript:      " script: on @user_script:%l.",
		waitAtReplica: "ERR WAIT cannot be used with replica instances. Please also note that if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.",
		helloUnknown:  "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
		noNil:         "ERR Command arguments must be strings or integers",
		nonLocal:      "ERR Attempted to access a non local key in a cluster node",
	},
}

// toldLoading are the commands that newer servers answer while they load.
var toldLoading = map[string]bool{
	"cluster|slots": true, "cluster|shards": true, "cluster|nodes": true, "cluster|myid": true, "cluster|info": true, "cluster|keyslot": true,
}

// runsWhileLoading reports whether a server that loads its data runs the command.
func (d *dialect) runsWhileLoading(c *command) bool {
	return c.flags["loading"] || d.mapWhileLoading && toldLoading[c.name]
}

// named is a text of Redis with the server's own name in it.
func (d *dialect) named(text string) string { return strings.ReplaceAll(text, "Redis", d.product) }

func (c *Cluster) dialect() *dialect { return &dialects[c.opts.Dialect] }

// commands are those of a node of its kind.
func (n *Node) commands() map[string]*command {
	if n.sentinel {
		return sentinelCommands
	}
	return commands
}

// lookup finds a command that the node knows; nil if there is none.
func (n *Node) lookup(args [][]byte) *command {
	c := lookup(n.commands(), args)
	if c != nil && n.c.opts.Dialect < c.since {
		return nil
	}
	return c
}
