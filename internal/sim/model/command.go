package model

import (
	"fmt"
	"strings"
)

// A command is what a server knows of it before it runs.
type command struct {
	name              string // in lower case, of a subcommand with its parent's: client|id
	arity             int    // with the name; negative: at least
	flags             map[string]bool
	write, denyOOM    bool
	first, last, step int                     // of the keys among the arguments; first 0: none
	keys              func([][]byte) [][]byte // of those whose keys move
	run               func(*call)
	subs              map[string]*command
}

// commands holds all but subcommands.
var commands = make(map[string]*command)

// register adds a command to the table. The text is its name, arity, flags and
// the positions of the first and last key and their distance, as COMMAND INFO
// has them; of subcommands the flags may be empty, a hyphen.
func register(text string, run func(*call)) *command { return registerIn(commands, text, run) }

func registerIn(table map[string]*command, text string, run func(*call)) *command {
	c := &command{flags: make(map[string]bool), run: run}
	var flags string
	if _, err := fmt.Sscan(text, &c.name, &c.arity, &flags, &c.first, &c.last, &c.step); err != nil {
		panic("model: " + text + ": " + err.Error())
	}
	for flag := range strings.SplitSeq(flags, ",") {
		c.flags[flag] = flag != "-"
	}
	c.write, c.denyOOM = c.flags["write"], c.flags["denyoom"]
	parent, sub, nested := strings.Cut(c.name, "|")
	if !nested {
		table[c.name] = c
		return c
	}
	container := table[parent]
	if container == nil {
		container = &command{name: parent, arity: -2}
		table[parent] = container
	}
	if container.subs == nil {
		container.subs = make(map[string]*command)
	}
	container.subs[sub] = c
	return c
}

// lookup finds a command by its arguments; nil if there is none.
func lookup(table map[string]*command, args [][]byte) *command {
	c := find(table, args[0])
	if c == nil || c.subs == nil || len(args) == 1 {
		return c
	}
	return find(c.subs, args[1])
}

// commands are those of a node of its kind.
func (n *Node) commands() map[string]*command {
	if n.sentinel {
		return sentinelCommands
	}
	return n.c.dialect.commands()
}

// lookup finds a command that the node knows; nil if there is none.
func (n *Node) lookup(args [][]byte) *command { return lookup(n.commands(), args) }

func find(table map[string]*command, name []byte) *command {
	var buf [24]byte
	if len(name) > len(buf) {
		return nil
	}
	return table[string(appendLower(buf[:0], name))]
}

func appendLower(b, s []byte) []byte {
	for _, c := range s {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// upper returns a word in capitals, up to a length that no keyword has.
func upper(word []byte) string {
	if len(word) > 20 {
		return ""
	}
	return strings.ToUpper(string(word))
}

// cString is the text up to its first NUL, as C prints it.
func cString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// refuse returns why no server can run these arguments, or nothing.
func (c *command) refuse(n *Node, args [][]byte) string {
	switch {
	case c == nil:
		return n.unknown(args)
	case c.arity > 0 && len(args) != c.arity || len(args) < -c.arity:
		return "ERR wrong number of arguments for '" + c.name + "' command"
	}
	return ""
}

func (n *Node) unknown(args [][]byte) string {
	if find(n.commands(), args[0]) != nil {
		return fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", cString(args[1]), strings.ToUpper(cString(args[0])))
	}
	name := cString(args[0])
	if len(args) == 1 && n.c.dialect.newer && !n.c.dialect.valkey {
		return fmt.Sprintf("ERR unknown command '%.128s'", name)
	}
	var said strings.Builder
	for _, arg := range args[1:] {
		if said.Len() >= 128 {
			break
		}
		text := cString(arg)
		fmt.Fprintf(&said, "'%s' ", text[:min(len(text), 128-said.Len())])
	}
	return fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", name[:min(len(name), 128)], said.String())
}

// keysOf returns the command's keys among its arguments.
func (c *command) keysOf(args [][]byte) [][]byte {
	if c.keys != nil {
		return c.keys(args)
	}
	if c.first == 0 {
		return nil
	}
	last := c.last
	if last < 0 {
		last += len(args)
	}
	if c.step == 1 {
		return args[c.first : last+1]
	}
	var keys [][]byte
	for i := c.first; i <= last; i += c.step {
		keys = append(keys, args[i])
	}
	return keys
}

// routed reports whether the command may have keys, so that slots matter.
func (c *command) routed() bool { return c.first != 0 || c.keys != nil || c.name == "exec" }

func init() { register("command -1 loading,stale 0 0 0", commandInfos) }

// commandInfos replies what COMMAND does, without categories, tips, key specifications and
// subcommands.
func commandInfos(c *call) {
	if len(c.args) > 1 {
		c.err(c.n.unknown(c.args))
		return
	}
	all := c.n.commands()
	c.array(len(all))
	for _, cmd := range all {
		c.array(10)
		c.bulkString(cmd.name)
		c.int(int64(cmd.arity))
		flags := cmd.flagNames()
		c.set(len(flags))
		for _, flag := range flags {
			c.status(flag)
		}
		c.int(int64(cmd.first))
		c.int(int64(cmd.last))
		c.int(int64(cmd.step))
		c.set(0)
		for range 3 {
			c.array(0)
		}
	}
}

func (c *command) flagNames() (names []string) {
	for _, flag := range [...]string{
		"write", "readonly", "denyoom", "admin", "pubsub", "noscript", "blocking", "loading", "stale",
		"fast", "no_auth", "allow_busy", "movablekeys",
	} {
		if c.flags[flag] {
			names = append(names, flag)
		}
	}
	return names
}
