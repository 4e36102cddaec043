package model

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
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
		c.err(c.n.c.dialect().noScript)
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

// A script gets its keys and arguments, and replies.
type script func(c *call, keys, args [][]byte)

// known are the scripts that are more than one call.
var known = map[string]script{
	"if redis.call('PTTL',KEYS[1])==-1 then return redis.call('PEXPIRE',KEYS[1],ARGV[1]) end return 0": func(c *call, keys, args [][]byte) {
		key, ttl, from := nth(keys, 1), nth(args, 1), len(c.b)
		c.redis([]byte("PTTL"), key)
		switch left := c.b[from:]; {
		case left[0] == '-':
		case string(left) == ":-1\r\n":
			c.b = c.b[:from]
			c.redis([]byte("PEXPIRE"), key, ttl)
		default:
			c.b = c.b[:from]
			c.int(0)
		}
	},
}

// one is a script of a single call.
var (
	one     = regexp.MustCompile(`^\s*return\s+redis\.call\(\s*(.*?)\s*\)\s*;?\s*$`)
	operand = regexp.MustCompile(`^(?:'([^'\\]*)'|"([^"\\]*)"|(KEYS|ARGV)\[(\d+)\]|(-?\d+))$`)
)

func (c *call) runScript(id string) {
	text := c.n.scripts[id]
	n, _ := parseInt(c.args[2])
	keys, args := c.args[3:3+n], c.args[3+n:]
	inner := *c
	inner.in = inScript
	from, resp, line := len(c.b), c.resp, "1"
	if words, ok := singleCall(text, keys, args); ok || known[text] != nil {
		c.resp = 2 // of commands in scripts
		if ok {
			inner.redis(words...)
		} else {
			known[text](&inner, keys, args)
		}
		if c.resp = resp; resp > 2 && c.b[from] != '-' {
			value, _ := c.s.c.interpreted().read(bytes.Clone(c.b[from:]))
			c.b = c.b[:from]
			c.luaValue(value)
		}
	} else {
		i := c.s.c.interpreted()
		line = i.run(&inner, i.compile(text), keys, args)
	}
	switch kind := c.b[from]; {
	case kind == '-' && !inner.returned:
		c.b = append(c.b[:len(c.b)-2], strings.NewReplacer("%s", id, "%l", line).Replace(c.n.c.dialect().inScript)...)
		c.b = append(c.b, "\r\n"...)
	case kind == ':':
		n, _ := parseInt(c.b[from+1 : len(c.b)-2])
		c.b = c.b[:from]
		c.int(luaInt(n))
	}
}

// load keeps a script under its SHA-1; false if it has replied that it does not compile.
func (c *call) load(id string, text []byte) bool {
	script := string(text)
	_, single := singleCall(script, nil, nil)
	if known[script] == nil && !single && c.s.c.interpreted().compile(script) == nil {
		c.err("ERR Error compiling script (new function): user_script:1: syntax error")
		return false
	}
	c.n.scripts[id] = script
	return true
}

// interpreted returns what runs the scripts, which is made when it is first needed.
func (c *Cluster) interpreted() *interpreter {
	if c.scripts == nil {
		c.scripts = newInterpreter()
	}
	return c.scripts
}

// luaInt is what a script makes of an integer: Lua has floating point numbers
// only.
func luaInt(n int64) int64 {
	f := float64(n)
	if f >= math.MaxInt64 {
		return math.MinInt64
	}
	return int64(f)
}

// redis is redis.call of a script.
func (c *call) redis(args ...[]byte) {
	if slices.ContainsFunc(args, func(arg []byte) bool { return arg == nil }) {
		c.err(c.n.c.dialect().noNil)
		return
	}
	cmd := c.n.lookup(args)
	switch {
	case cmd == nil:
		c.err("ERR Unknown Redis command called from script")
	case cmd.refuse(args) != "":
		c.err("ERR Wrong number of args calling Redis command from script")
	case cmd.flags["noscript"]:
		c.err("ERR This Redis command is not allowed from script")
	case c.n.mayNot[cmd.name]:
		c.err(c.s.forbidden(c.n.c.dialect().scriptNotAllowed, cmd.name))
	case cmd.write && c.n.source != nil:
		c.err(errReadOnly)
	case cmd.write && c.n.misconf:
		c.err(c.n.c.dialect().named(errMisconf))
	case cmd.write && c.n.noReplicas:
		c.err(errNoReplicas)
	case cmd.denyOOM && c.n.oom:
		c.err(errOOM)
	case c.s.route(cmd, args, cmd.write) != "":
		c.err(c.n.c.dialect().nonLocal)
	default:
		c.cmd, c.args = cmd, args
		c.execute()
	}
}

// nth returns an element as Lua does, counting from 1; nil if there is none.
func nth(of [][]byte, i int) []byte {
	if i < 1 || i > len(of) {
		return nil
	}
	return of[i-1]
}

// singleCall returns the words of a script that is a single call; nil for those
// that it was not given.
func singleCall(text string, keys, args [][]byte) (words [][]byte, ok bool) {
	call := one.FindStringSubmatch(text)
	if call == nil {
		return nil, false
	}
	for word := range strings.SplitSeq(call[1], ",") {
		m := operand.FindStringSubmatch(strings.TrimSpace(word))
		switch {
		case m == nil:
			return nil, false
		case m[3] == "":
			words = append(words, literal(m))
			continue
		}
		from := keys
		if m[3] == "ARGV" {
			from = args
		}
		i, _ := strconv.Atoi(m[4])
		words = append(words, nth(from, i))
	}
	return words, len(words) > 0
}

// literal is an operand that the script has in it.
func literal(m []string) []byte {
	if f, err := strconv.ParseFloat(m[5], 64); err == nil {
		return numberText(f, 17)
	}
	return []byte(m[1] + m[2])
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
