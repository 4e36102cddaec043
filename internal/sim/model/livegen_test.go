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
	migrating bool
}

func newGenerator(seed uint64) generator {
	return generator{Rand: rand.New(rand.NewPCG(seed, 0)), tags: [3]string{"bar", "a9", "foo"}}
}

// templates are what commands are made of: capitals in them stand for themselves,
// words in small letters are replaced. Those after a tilde have replies that
// depend on more than what came before, and are not for transactions.
var templates = strings.Split(strings.TrimSpace(`
PING
PING v
ECHO v
~HELLO
~HELLO proto
~HELLO proto SETNAME n
~HELLO proto AUTH default v
~HELLO x
~HELLO 3 FOO
AUTH v
AUTH secret
AUTH default v
AUTH v v v
CLIENT SETNAME n
CLIENT GETNAME
~CLIENT ID
CLIENT REPLY ON
CLIENT REPLY FOO
CLIENT NO-EVICT ON
CLIENT NO-EVICT v
CLIENT NO-TOUCH ON
CLIENT SETINFO LIB-NAME n
CLIENT SETINFO lib-ver v
CLIENT SETINFO FOO v
~CLUSTER SHARDS
CLIENT FOO
CLIENT
CLUSTER MYID
CLUSTER SLOTS
~CLUSTER NODES
~CLUSTER INFO
CLUSTER KEYSLOT k
CLUSTER KEYSLOT v
CLUSTER COUNTKEYSINSLOT i
CLUSTER FOO
~CLUSTER GETKEYSINSLOT s 1000
CLUSTER GETKEYSINSLOT i i
READONLY
READONLY
READWRITE
ASKING
ASKING
ASKING
SELECT i
SELECT 0
RESET
GET k
GET k
GET k
SET k v
SET k v
SET k i
SET k v EX t
SET k v PX t
SET k v EXAT a
SET k v PXAT a
SET k v NX
SET k v XX GET
SET k v GET
SET k v NX GET
SET k v KEEPTTL
SET k v EX t KEEPTTL
SET k v NX XX
SET k v EX
SET k v EX t PX t
SET k v EX t EX t NX
SET k v FOO
SETNX k v
SETEX k t v
PSETEX k t v
GETSET k v
GETDEL k
MGET k k k
MSET k v k v
MSET k v k
MSETNX k v k v
APPEND k v
STRLEN k
INCR k
INCR k
INCRBY k i
INCRBY k i
INCRBY k i
DECR k
DECRBY k i
DEL k
DEL k k
UNLINK k k k
EXISTS k k
TOUCH k
TYPE k
EXPIRE k t
EXPIRE k t
EXPIRE k t NX
EXPIRE k t XX
EXPIRE k t GT
EXPIRE k t LT
EXPIRE k t o o
EXPIRE k t FOO
PEXPIRE k t
PEXPIRE k t NX
EXPIREAT k a
EXPIREAT k a o
PEXPIREAT k a
PERSIST k
~TTL k
~TTL k
~PTTL k
~EXPIRETIME k
~PEXPIRETIME k
LPUSH k v v
RPUSH k v
LPOP k
RPOP k
LPOP k i
RPOP k i
LPOP k i i
LLEN k
LRANGE k i i
LRANGE k 0 -1
LINDEX k i
LMOVE k k LEFT RIGHT
LMOVE k k RIGHT LEFT
LMOVE k k FOO LEFT
BLPOP k k x
BRPOP k -1
HSET k f v
HSET k f v f i
HSET k f v f
HGET k f
HMGET k f f
HDEL k f f
HGETALL k
HLEN k
HEXISTS k f
HINCRBY k f i
HINCRBY k f i
SADD k v v
SADD k i i
SREM k v i
~SMEMBERS k
SCARD k
SISMEMBER k i
ZADD k z m
ZADD k z m z m
ZADD k z m z
ZADD k NX z m
ZADD k XX CH z m
ZADD k GT CH z m
ZADD k LT z m z m
ZADD k NX XX z m
ZADD k NX GT z m
ZADD k INCR z m
ZADD k NX INCR z m
ZADD k INCR z m z m
ZREM k m m
ZCARD k
ZSCORE k m
ZRANGE k i i
ZRANGE k 0 -1
ZRANGE k 0 -1 WITHSCORES
ZRANGE k i i REV WITHSCORES
ZREMRANGEBYSCORE k b b
ZREMRANGEBYSCORE k -inf b
MULTI
MULTI
MULTI
EXEC
EXEC
EXEC
EXEC
EXEC
DISCARD
WATCH k
WATCH k k
UNWATCH
EVAL incrby 1 k i
EVAL incrby i k i
EVAL expire 1 k t
EVAL get 1 k
EVAL madeup 1 k
EVALSHA incrbysha 1 k i
EVALSHA v 1 k
EVALSHA v 0
SCRIPT LOAD incrby
SCRIPT EXISTS incrbysha v
SCRIPT FLUSH
SCRIPT FLUSH v
SCRIPT FOO
SUBSCRIBE chan
UNSUBSCRIBE
UNSUBSCRIBE
UNSUBSCRIBE
PUBLISH nobody v
~SCAN 0 COUNT 100000
~SCAN x
~SCAN 0 COUNT
~SCAN 0 COUNT 0
~SCAN 0 FOO 1
~DBSIZE
~WAIT 0 0
~WAIT x 0
~WAIT 0 -1
NOSUCH k v v
NOSUCH
`), "\n")

const incrbyScript = "return redis.call('INCRBY',KEYS[1],ARGV[1])"

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
	case "v":
		return pick(g, values)
	case "i":
		if g.IntN(2) == 0 {
			return strconv.Itoa(g.IntN(10) - 3)
		}
		return pick(g, integers)
	case "s":
		return strconv.Itoa(int(Slot([]byte("{" + tag + "}"))))
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
	case "x":
		return pick(g, []string{"-1", "x", "-0.5", ""})
	case "f":
		return pick(g, []string{"f", "g", "h", "1", ""})
	case "m":
		return pick(g, []string{"m", "n", "o", "1", ""})
	case "z":
		return pick(g, []string{"0", "1", "2.5", "-3", "1e3", "inf", "-inf", "1000000000000", "abc", "", " 1", "nan", "1_0"})
	case "b":
		return pick(g, []string{"1", "(1", "-inf", "+inf", "2.5", "(", "x", "(-3"})
	case "n":
		return pick(g, []string{"name", "", "a b", "x\n"})
	case "o":
		return pick(g, []string{"NX", "xx", "GT", "lt"})
	case "proto":
		return pick(g, []string{"2", "3", "3", "4", "x"})
	case "incrby":
		return incrbyScript
	case "incrbysha":
		return sha([]byte(incrbyScript))
	case "get":
		return "return redis.call('GET', KEYS[1])"
	case "madeup":
		return "return {err='MOVED 1 10.255.0.1:6379'}"
	case "expire":
		return "if redis.call('PTTL',KEYS[1])==-1 then return redis.call('PEXPIRE',KEYS[1],ARGV[1]) end return 0"
	}
	return word
}

// command makes a command for a session, which now and then is wrong.
func (g *generator) command(p *pair) [][]byte {
	template := pick(g, templates)
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
	}
	return args
}
