package model

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A generator makes random commands.
type generator struct {
	*rand.Rand
	tags      [3]string
	templates []string
	migrating bool
}

func newGenerator(server string, seed uint64) generator {
	return generator{Rand: rand.New(rand.NewPCG(seed, 0)), tags: [3]string{"bar", "a9", "foo"}, templates: templatesOf(grammar + grammars[server])}
}

// grammars have what the dialects know besides.
var grammars = map[string]string{"redis-8.10": `
INCREX k: | BYINT i | BYINT i UBOUND i | LBOUND i | BYINT i LBOUND i UBOUND i | UBOUND i SATURATE | BYINT i LBOUND i UBOUND i SATURATE
INCREX k: EX t | BYINT i PX t ENX | UBOUND i EXAT a | PXAT a ENX | PERSIST | SATURATE BYINT i
INCREX k: EX t PERSIST | ENX PERSIST | ENX | BYINT | BYINT i BYINT i | UBOUND v EX t | EX t PX t | FOO
`}

// grammar has what commands are made of: capitals stand for themselves, words in small letters are
// replaced. Behind a colon are the ways to go on, of which one comes as often as it is there.
// Commands behind a tilde have replies that depend on more than what came before, and are not for
// transactions.
const grammar = `
PING: | v
ECHO v
~HELLO: | proto | proto SETNAME n | proto AUTH default v | x | 3 FOO
AUTH: v | secret | default v | v v v
CLIENT: | SETNAME n | GETNAME | FOO
~CLIENT ID
CLUSTER: MYID | SLOTS | KEYSLOT k | KEYSLOT v | FOO
~CLUSTER NODES
READONLY: |
READWRITE
ASKING: | |
SELECT: i | 0
RESET
GET k: | |
SET k: v | v | i
SET k v: EX t | PX t | EXAT a | PXAT a | NX | XX GET | GET | NX GET | KEEPTTL
SET k v: EX t KEEPTTL | NX XX | EX | EX t PX t | EX t EX t NX | FOO
SETNX k v
SETEX k t v
PSETEX k t v
GETSET k v
GETDEL k
MGET k k k
MSET k v k: v |
MSETNX k v k v
APPEND k v
STRLEN k
INCR k: |
INCRBY k i: | |
DECR k
DECRBY k i
DEL k: | k
UNLINK k k k
EXISTS k k
TOUCH k
TYPE k
EXPIRE k t: | | NX | XX | GT | LT | o o | FOO
PEXPIRE k t: | NX
EXPIREAT k a: | o
PEXPIREAT k a
PERSIST k
~TTL k: |
~PTTL k
~EXPIRETIME k
~PEXPIRETIME k
LPUSH k v v
RPUSH k v
LPOP k: | i | i i
RPOP k: | i
LLEN k
LRANGE k: i i | 0 -1
LINDEX k i
LMOVE k k: LEFT RIGHT | RIGHT LEFT | FOO LEFT
BLPOP k k x
BRPOP k -1
HSET k f v: | f i | f
HGET k f
HMGET k f f
HDEL k f f
HGETALL k
HLEN k
HEXISTS k f
HINCRBY k f i: |
ZADD k: z m | z m z m | z m z
ZREM k m m
ZCARD k
ZSCORE k m
ZRANGE k: i i | 0 -1 | 0 -1 WITHSCORES | i i WITHSCORES
ZREMRANGEBYSCORE k: b b | -inf b
MULTI: | |
EXEC: | | | |
DISCARD
WATCH k: | k
UNWATCH
EVAL: incrby 1 k i | incrby i k i | expire 1 k t | get 1 k | madeup 1 k
EVALSHA: incrbysha 1 k i | v 1 k | v 0
SCRIPT: LOAD incrby | EXISTS incrbysha v | FLUSH | FLUSH v | FOO
SUBSCRIBE chan
UNSUBSCRIBE: | |
PUBLISH nobody v
~DBSIZE
NOSUCH: | k v v
`

// templatesOf returns all commands of a grammar.
func templatesOf(grammar string) (all []string) {
	for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(grammar, "\n\n", "\n"))) {
		command, ways, _ := strings.Cut(line, ":")
		for way := range strings.SplitSeq(ways, "|") {
			all = append(all, strings.TrimSpace(command)+" "+strings.TrimSpace(way))
		}
	}
	return all
}

const incrbyScript = "return redis.call('INCRBY',KEYS[1],ARGV[1])"

// drawn are the words that a template's word is replaced by.
var drawn = map[string][]string{
	"v":         values,
	"x":         {"-1", "x", "-0.5", "", "-0x1", "-0x1p-2", "0x"},
	"f":         {"f", "g", "h", "1", ""},
	"m":         {"m", "n", "o", "1", ""},
	"z":         {"0", "1", "2.5", "-3", "1e3", "inf", "-inf", "1000000000000", "abc", "", " 1", "nan", "1_0", "0x10", "0X1.8p-1", "-0x", "0x1_0", "infinity", "1e400", "1e-400", ".5", "5.", "1e"},
	"b":         {"1", "(1", "-inf", "+inf", "2.5", "(", "x", "(-3"},
	"n":         {"name", "", "a b", "x\n"},
	"o":         {"NX", "xx", "GT", "lt"},
	"proto":     {"2", "3", "3", "4", "x"},
	"incrby":    {incrbyScript},
	"incrbysha": {sha([]byte(incrbyScript))},
	"get":       {"return redis.call('GET', KEYS[1])"},
	"madeup":    {"return {err='MOVED 1 10.255.0.1:6379'}"},
	"expire":    {"if redis.call('PTTL',KEYS[1])==-1 then return redis.call('PEXPIRE',KEYS[1],ARGV[1]) end return 0"},
}

var (
	integers = []string{"0", "1", "-1", "2", "5", "10", "100", "12345", "-7", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "1.5", "", " 1", "+1", "01", "-0", "4611686018427387904"}
	values   = []string{"v", "w", "", "hello", "10", "007", "a\r\nb", "x\x00y", "é", strings.Repeat("long", 15)}
	times    = []string{"0", "-1", "1000000", "9223372036854775807", "9223372036854775", "9223372036854776", "abc", "1.5", "-9223372036854775808"}
)

func pick[T any](g *generator, of []T) T { return of[g.IntN(len(of))] }

// words makes a command of a template.
func (g *generator) words(template string) (args [][]byte) {
	tag := pick(g, g.tags[:])
	if g.IntN(3) == 0 {
		tag = g.tags[1]
	}
	for word := range strings.FieldsSeq(template) {
		args = append(args, []byte(g.word(word, tag)))
	}
	return args
}

func (g *generator) word(word, tag string) string {
	switch word {
	case "k":
		if g.IntN(60) == 0 {
			tag = pick(g, g.tags[:])
		}
		return "{" + tag + "}" + strconv.Itoa(g.IntN(8))
	case "i":
		if g.IntN(2) == 0 {
			return strconv.Itoa(g.IntN(10) - 3)
		}
		return pick(g, integers)
	case "t": // far enough from others that it does not matter when exactly it was set
		if g.IntN(5) == 0 {
			return pick(g, times)
		}
		return strconv.Itoa(1_000_000 + 10_000*g.IntN(10_000_000))
	case "a":
		switch g.IntN(4) {
		case 0:
			return pick(g, times)
		case 1:
			return strconv.FormatInt(time.Now().UnixMilli()+int64(100_000+g.IntN(1000)), 10)
		}
		return strconv.FormatInt(time.Now().Unix()+int64(100_000+g.IntN(10)), 10)
	}
	if of := drawn[word]; of != nil {
		return pick(g, of)
	}
	return word
}

// command makes a command for a session, which now and then is wrong.
func (g *generator) command(p *pair) [][]byte {
	template := pick(g, g.templates)
	text, volatile := strings.CutPrefix(template, "~")
	if volatile && p.model.multi {
		return g.command(p)
	}
	args := g.words(text)
	if strings.HasPrefix(text, "SUBSCRIBE") { // of several channels, nobody knows the order
		return args
	}
	switch g.IntN(60) {
	case 0:
		args = args[:len(args)-g.IntN(len(args))]
	case 1:
		args = append(args, []byte(pick(g, values)))
	case 2:
		args[0] = bytes.ToLower(args[0])
	case 3, 4:
		if i := g.IntN(len(args)); i > 0 && !strings.HasPrefix(text, "B") && !strings.Contains("EVAL SCRIPT", string(args[0])) { // no wait, no Lua
			args[i] = []byte(pick(g, values))
		}
	}
	return args
}
