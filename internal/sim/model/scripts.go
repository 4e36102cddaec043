package model

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

func init() {
	eval := register("eval -3 noscript,stale,may_replicate,movablekeys 0 0 0", eval)
	eval.keys = scriptKeys
	evalsha := register("evalsha -3 noscript,stale,may_replicate,movablekeys 0 0 0", evalsha)
	evalsha.keys = scriptKeys
	register("script|load 3 noscript,stale 0 0 0", scriptLoad)
	register("script|exists -3 noscript 0 0 0", scriptExists)
	register("script|flush -2 noscript 0 0 0", scriptFlush)
}

// scriptKeys returns the keys of EVAL; none if their number makes no sense.
func scriptKeys(args [][]byte) [][]byte {
	n := leadingInt(string(args[2]))
	if n < 0 || n > len(args)-3 {
		return nil
	}
	return args[3 : 3+n]
}

// leadingInt reads what is a number at the beginning, as C's atoi does: servers
// look for the keys before they know whether their number is one.
func leadingInt(s string) int {
	s = strings.TrimLeft(s, " \t\r\n\v\f")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && (s[0] == '-' || s[0] == '+')) {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}

func sha(text []byte) string {
	sum := sha1.Sum(text)
	return hex.EncodeToString(sum[:])
}

func eval(c *call) {
	id := sha(c.args[1])
	if c.enoughKeys() && c.load(id, c.args[1]) {
		c.runScript(id)
	}
}

func evalsha(c *call) {
	id := strings.ToLower(string(c.args[1]))
	_, ok := c.n.scripts[id]
	if len(id) == hex.EncodedLen(sha1.Size) && !c.enoughKeys() {
		return
	}
	if !ok {
		c.err("NOSCRIPT No matching script. Please use EVAL.")
		return
	}
	c.runScript(id)
}

func (c *call) enoughKeys() bool {
	switch n, ok := c.integer(c.args[2]); {
	case !ok:
	case n > int64(len(c.args)-3):
		c.err("ERR Number of keys can't be greater than number of args")
	case n < 0:
		c.err("ERR Number of keys can't be negative")
	default:
		return true
	}
	return false
}

func (c *call) runScript(id string) {
	n, _ := parseInt(c.args[2])
	inner := *c
	inner.nested = true
	from, i := len(c.b), c.s.c.interpreted()
	line := i.run(&inner, i.compile(c.n.scripts[id]), c.args[3:3+n], c.args[3+n:])
	if c.b[from] == '-' && !inner.returned {
		if id += ", "; c.dialect.valkey {
			id = ""
		}
		c.b = append(c.b[:len(c.b)-2], " script: "+id+"on @user_script:"+line+"."...)
		c.b = append(c.b, "\r\n"...)
	}
}

// load keeps a script under its SHA-1; false if it has replied that it does not compile.
func (c *call) load(id string, text []byte) bool {
	if c.s.c.interpreted().compile(string(text)) == nil {
		c.err("ERR Error compiling script (new function): user_script:1: syntax error")
		return false
	}
	c.n.scripts[id] = string(text)
	return true
}

// interpreted returns what runs the scripts, which is made when it is first needed.
func (c *Cluster) interpreted() *interpreter {
	if c.scripts == nil {
		c.scripts = newInterpreter()
	}
	return c.scripts
}

// redis is redis.call of a script.
func (c *call) redis(args ...[]byte) {
	cmd := c.n.lookup(args)
	away := func() string { return c.s.route(cmd, args, cmd.write) }
	switch {
	case cmd == nil:
		c.err("ERR Unknown Redis command called from script")
	case cmd.refuse(c.n, args) != "":
		c.err("ERR Wrong number of args calling Redis command from script")
	case cmd.flags["noscript"]:
		c.err("ERR This Redis command is not allowed from script")
	case c.dialect.valkey && away() != "":
		c.err("ERR Script attempted to access a non local key in a cluster node")
	case cmd.write && c.n.source != nil:
		c.err(errReadOnly)
	case cmd.write && c.n.noReplicas:
		c.err(errNoReplicas)
	case cmd.denyOOM && c.n.oom:
		c.err(errOOM)
	case c.dialect.newer && away() == errCrossSlot:
		c.errorf("ERR Command '%s' in script attempted to access keys that don't hash to the same slot", cmd.name)
	case away() != "":
		c.err("ERR Script attempted to access a non local key in a cluster node")
	default:
		c.cmd, c.args = cmd, args
		c.execute()
	}
}

func scriptLoad(c *call) {
	if id := sha(c.args[2]); c.load(id, c.args[2]) {
		c.bulkString(id)
	}
}

func scriptExists(c *call) {
	c.array(len(c.args) - 2)
	for _, id := range c.args[2:] {
		_, ok := c.n.scripts[strings.ToLower(string(id))]
		c.bool(ok)
	}
}

func scriptFlush(c *call) {
	if len(c.args) > 3 || len(c.args) == 3 && upper(c.args[2]) != "ASYNC" && upper(c.args[2]) != "SYNC" {
		c.err("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	clear(c.n.scripts)
	c.ok()
}
