package fate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// TestServersSayNothingElse sends all commands of the servers at hand with many arguments:
// too few and too many, of wrong types, in transactions and scripts, without memory, without
// replicas, without permission, and in cluster mode. Each error that comes back has to be
// in the table.
func TestServersSayNothingElse(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("REDISLANES_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "REDISLANES_SEED")
	}
	t.Logf("REDISLANES_SEED=%d makes the same lines again", seed)
	for _, binary := range servers.Servers(t) {
		for _, mode := range []string{"alone", "cluster"} {
			t.Run(filepath.Base(filepath.Dir(binary))+"/"+mode, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var addr string
				if mode == "cluster" {
					addr = servers.StartCluster(t, servers.Options{Binary: binary, Primaries: 1}).Addrs()[0]
				} else {
					addr = servers.StartServer(t, servers.Options{Binary: binary}).Addrs()[0]
				}
				p := &prober{t: t, ctx: ctx, addr: addr, Rand: rand.New(rand.NewPCG(seed, 0)), texts: map[string]string{}}
				p.probeAll()
				assert.Greater(t, len(p.texts), 100, "errors that differ")
			})
		}
	}
}

// A prober sends lines to a server and looks at the errors.
type prober struct {
	*rand.Rand
	t     *testing.T
	ctx   context.Context
	addr  string
	conn  radix.Conn
	texts map[string]string // the errors that came, and a line of each
}

// left are commands that end the server or the connection, change whom it follows, answer
// more than once or later, or take long.
var left = map[string]bool{
	"SHUTDOWN": true, "DEBUG": true, "MONITOR": true, "SYNC": true, "PSYNC": true, "REPLCONF": true, "QUIT": true,
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SUNSUBSCRIBE": true,
	"REPLICAOF": true, "SLAVEOF": true, "FAILOVER": true, "MIGRATE": true, "MODULE": true, "PFSELFTEST": true, "LOLWUT": true,
	"BGSAVE": true, "BGREWRITEAOF": true, "SAVE": true, "HELLO": true,
}

// leftSubcommands are the same with their first arguments.
var leftSubcommands = map[string]bool{
	"CLIENT REPLY": true, "CLIENT PAUSE": true, "CLIENT KILL": true, "CLIENT TRACKING": true, "CLUSTER MEET": true,
	"CLUSTER RESET": true, "CLUSTER REPLICATE": true, "CLUSTER SYNCSLOTS": true, "SCRIPT DEBUG": true, "SCRIPT KILL": true,
}

// blocking commands are only sent where they do not block.
var blocking = map[string]bool{
	"BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BLMOVE": true, "BLMPOP": true, "BZPOPMIN": true, "BZPOPMAX": true,
	"BZMPOP": true, "XREAD": true, "XREADGROUP": true, "WAIT": true, "WAITAOF": true,
}

func (p *prober) probeAll() {
	commands := p.commands()
	p.fill()
	rounds := race.Rounds(12, 4) // the lines differ each time
	for _, c := range commands {
		for range rounds {
			p.probe(c)
		}
	}
	for _, line := range fixedLines {
		p.send(strings.Split(line, "~")...)
	}
	for _, setting := range []string{"maxmemory 1", "min-replicas-to-write 1"} {
		name, value, _ := strings.Cut(setting, " ")
		p.send("CONFIG", "SET", name, value)
		for _, c := range commands {
			p.probe(c)
		}
		p.send("CONFIG", "SET", name, "0")
	}
	p.send("ACL", "SETUSER", "nobody", "on", "nopass", "+ping", "+multi", "+exec", "+auth", "+eval")
	p.redial()
	p.send("AUTH", "nobody", "x")
	for _, c := range commands {
		if c.name != "AUTH" {
			p.probe(c)
		}
	}
	_ = p.conn.Close()
}

// fixedLines make errors that random lines hardly make; the arguments are separated by "~".
var fixedLines = []string{
	"EVAL~return redis.error_reply('ERR value is not an integer or out of range')~0", "EVAL~return redis.call()~0",
	"EVAL~error('ERR x')~0", "EVAL~#!lua flags=x\nreturn 1~0", "EVAL~#!x\nreturn 1~0", "EVAL~#!lua x=y\nreturn 1~0",
	"EVAL~#!lua flags=no-writes\nreturn redis.call('set','string','1')~0", "EVAL~local t={} return t.x.y~0", "EVALSHA~x~0",
	"EVAL_RO~return redis.call('set',KEYS[1],'1')~1~string", "FUNCTION~LOAD~#!lua name=x\nx", "FUNCTION~LOAD~#!lua name=x\nreturn 1",
	"FUNCTION~LOAD~#!lua\nreturn 1", "FUNCTION~LOAD~#!x name=y\nreturn 1", "FUNCTION~LOAD~x", "FUNCTION~LOAD~#!lua name=a-b\nreturn 1",
	"FUNCTION~LOAD~#!lua name=a name=b\nreturn 1", "FUNCTION~LOAD~#!lua name=a x=b\nreturn 1",
	"FUNCTION~LOAD~#!lua name=l\nredis.register_function('f',function() return redis.call('get','hash') end)",
	"FUNCTION~LOAD~#!lua name=l\nredis.register_function('f',function() return 1 end)",
	"FUNCTION~LOAD~#!lua name=m\nredis.register_function('f',function() return 1 end)",
	"FUNCTION~LOAD~#!lua name=n\nredis.register_function('a-b',function() return 1 end)",
	"FUNCTION~LOAD~#!lua name=n\nredis.register_function('a')", "FCALL~f~0", "FCALL_RO~f~0", "FUNCTION~RESTORE~x", "FUNCTION~DELETE~zz",
	"MIGRATE~127.0.0.1~1~string~0~100", "INCRBY~max~1", "INCRBY~max~9223372036854775807", "HELLO~9", "HELLO~x", "HELLO~2~AUTH~a",
	"HELLO~2~AUTH~a~b", "HELLO~2~SETNAME~a b", "CLIENT~SETINFO~lib-name~a b", "CLIENT~SETINFO~LIB-VER~a b", "CLIENT~SETINFO~x~y", "CLIENT~SETNAME~a b",
	"SELECT~99", "SELECT~x", "AUTH~x", "AUTH~x~y", "EXEC", "DISCARD", "XADD~stream~1-1~a~b", "XADD~stream~0-0~a~b",
	"XGROUP~CREATE~stream~g~$", "XGROUP~CREATE~absent~g~$", "XREADGROUP~GROUP~g~c~STREAMS~stream~$", "XREADGROUP~GROUP~g~c~STREAMS~string~>",
	"ZADD~zset~NX~XX~1~a", "ZADD~zset~GT~LT~1~a", "ZADD~zset~INCR~1~a~2~b", "ZADD~zset~nan~a", "ZINCRBY~zset~inf~a", "ZINCRBY~zset~-inf~a",
	"GEOADD~geo~1~999~a", "GEOADD~geo~NX~XX~1~1~a", "GEORADIUS~geo~1~1~-1~km", "GEOSEARCH~geo~FROMMEMBER~zz~BYRADIUS~1~km",
	"EXPIRE~string~9223372036854775807", "SET~string~1~EX~0", "SET~string~1~EX~-1", "SETEX~string~0~x", "GETEX~string~EX~0", "EXPIRE~string~1~NX~XX", "EXPIRE~string~1~GT~LT",
	"SETRANGE~string~536870912~x", "SETBIT~string~4294967296~1", "BITOP~NOT~a~b~c", "BITFIELD~string~GET~u65~0", "LSET~absent~0~x", "LSET~list~99~x",
	"RENAME~absent~x", "OBJECT~FREQ~string", "OBJECT~IDLETIME~string", "DUMP", "RESTORE~x~0~y", "RESTORE~string~0~y", "RESTORE~x~-1~y", "COPY~string~string",
	"MOVE~string~0", "MOVE~string~99", "SWAPDB~0~99", "SORT~hash", "SORT~set~BY~x*~GET~#", "SCAN~x", "HSCAN~hash~x", "PFADD~string~a", "PFCOUNT~hash",
	"ACL~SETUSER~x~zz", "ACL~SETUSER~x~+zz", "ACL~GETUSER", "ACL~DELUSER~default", "ACL~GENPASS~99999", "ACL~DRYRUN~zz~get~a", "ACL~LOAD", "ACL~SAVE",
	"CONFIG~SET~zz~1", "CONFIG~SET~maxmemory~x", "CONFIG~SET~port~x", "CONFIG~REWRITE", "MEMORY~USAGE", "LATENCY~x", "SLOWLOG~GET~x", "SLOWLOG~GET~-9",
	"COMMAND~GETKEYS~ping", "COMMAND~GETKEYS~zz", "COMMAND~GETKEYS~mset", "CLIENT~UNBLOCK~9~X", "CLIENT~NO-EVICT~x", "CLIENT~CACHING~YES", "CLIENT~TRACKING~x",
	"CLIENT~TRACKING~ON~OPTIN~OPTOUT", "CLIENT~TRACKING~ON~PREFIX~a", "CLIENT~KILL~ID~x", "CLIENT~KILL~x", "CLIENT~PAUSE~x", "CLIENT~REPLY~x", "CLIENT~LIST~TYPE~x",
	"SCRIPT~KILL", "FUNCTION~KILL", "SCRIPT~DEBUG~x", "WAITAOF~1~0~0", "WAIT~x~0", "LCS~hash~string", "LCS~string~string~LEN~IDX", "LMPOP~0~a~LEFT", "SINTERCARD~0~a",
	"SUBSCRIBE", "CLUSTER~MEET~x~y", "CLUSTER~SETSLOT~0~NODE~x", "CLUSTER~SETSLOT~0~MIGRATING~x", "CLUSTER~ADDSLOTS~0~0", "CLUSTER~DELSLOTS~99999", "CLUSTER~FORGET~x",
	"CLUSTER~REPLICATE~x", "CLUSTER~REPLICAS~x", "CLUSTER~COUNTKEYSINSLOT~x", "CLUSTER~GETKEYSINSLOT~0~-1", "CLUSTER~RESET~x", "CLUSTER~FAILOVER~x", "CLUSTER~FAILOVER",
	"CLUSTER~SET-CONFIG-EPOCH~1", "FAILOVER", "FAILOVER~ABORT", "FAILOVER~TO~x~1", "REPLICAOF~x~y", "SHUTDOWN~x", "SHUTDOWN~ABORT", "MODULE~LOAD~x", "MODULE~UNLOAD~x", "DEBUG~SLEEP~0",
	"MONITOR~x", "MGET~string~absent", "zz", "zz~a~b", "GET", "HEXPIRE~hash~1~FIELDS~0", "HEXPIRE~hash~-1~FIELDS~1~a", "HPEXPIREAT~hash~1~FIELDS~2~a", "HSETEX~hash~FIELDS~1~a", "HGETEX~hash~EX~0~FIELDS~1~a",
	"HGETDEL~hash~FIELDS~0", "XSETID~stream~0-0", "XCLAIM~stream~g~c~x~1", "XAUTOCLAIM~stream~g~c~1~x", "XINFO~STREAM~absent", "XINFO~CONSUMERS~stream~zz", "XTRIM~stream~x~1", "XPENDING~stream~zz",
	"VADD~vset~VALUES~2~1~x~a", "VADD~vset~VALUES~2~1~1~a", "VADD~vset~VALUES~3~1~1~1~a", "VSIM~vset~ELE~zz", "VSIM~absent~ELE~a", "VEMB~vset~zz", "VSIM~vset~VALUES~2~1~1~FILTER~(((", "DELIFEQ~hash~x", "SET~hash~1~IFEQ~2",
}

// A command of a server.
type command struct {
	name  string
	words []string // it begins with
	arity int
}

func (p *prober) commands() (all []command) {
	p.redial()
	var reply []any
	require.NoError(p.t, p.conn.Do(p.ctx, radix.Cmd(&reply, "COMMAND")))
	var add func(rows []any)
	add = func(rows []any) {
		for _, row := range rows {
			f := row.([]any)
			words := strings.Split(strings.ToUpper(fmt.Sprintf("%s", f[0])), "|")
			const subcommands = 9 // since Redis 7
			if len(f) > subcommands {
				add(f[subcommands].([]any))
			}
			if !left[words[0]] && !leftSubcommands[strings.Join(words, " ")] {
				all = append(all, command{words[0], words, int(f[1].(int64))})
			}
		}
	}
	add(reply)
	require.Greater(p.t, len(all), 180)
	return all
}

// fill makes a key of each type.
func (p *prober) fill() {
	for _, line := range []string{
		"SET string x", "SET number 5", "SET max 9223372036854775807", "RPUSH list a b", "HSET hash a b", "SADD set a b", "ZADD zset 1 a",
		"XADD stream 5-5 a b", "GEOADD geo 1 1 a", "PFADD hll a",
	} {
		p.send(strings.Fields(line)...)
	}
}

var words = strings.Fields(`string number max list hash set zset stream geo hll absent -1 0 1 2 3 1.5 x nan inf -inf
	99999999999999999999 9223372036854775807 ( [a $ * > - + 1-1 LIMIT COUNT MATCH NX XX GT LT EX PX KEEPTTL WITHSCORES BY GET STORE
	FIELDS WEIGHTS AGGREGATE MAXLEN MINID STREAMS GROUP LEFT RIGHT MIN MAX km ALPHA ASC REV BYSCORE BYLEX IDX LEN HELP TYPE`)

// line makes up arguments, too few of them now and then.
func (p *prober) line(c command) []string {
	n := max(c.arity, -c.arity) + p.IntN(5)
	if p.IntN(6) == 0 {
		n = len(c.words)
	}
	line := append([]string(nil), c.words...)
	for len(line) < n {
		line = append(line, words[p.IntN(len(words))])
	}
	return line
}

// probe sends a line of the command by itself, in a transaction and in a script.
func (p *prober) probe(c command) {
	line := p.line(c)
	if len(line) > 1 && leftSubcommands[c.name+" "+line[1]] {
		return
	}
	alone := !blocking[c.name]
	if alone {
		p.send(line...)
	}
	p.send(append([]string{"EVAL", "return redis.call(unpack(ARGV))", "0"}, line...)...)
	if c.name != "EXEC" && c.name != "DISCARD" && c.name != "MULTI" && c.name != "RESET" && c.name != "AUTH" {
		p.send("MULTI")
		p.send(line...)
		p.send("EXEC")
	}
}

func (p *prober) redial() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	var err error
	p.conn, err = radix.Dial(p.ctx, "tcp", p.addr)
	require.NoError(p.t, err)
}

// send sends the line, and looks at the error in its reply.
func (p *prober) send(line ...string) {
	p.t.Helper()
	var reply resp3.RawMessage
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
	defer cancel()
	if err := p.conn.Do(ctx, radix.Cmd(&reply, line[0], line[1:]...)); err != nil {
		require.NoError(p.t, ctx.Err(), "%q", line)
		p.redial() // the command has ended the connection
		return
	}
	text, found := bytes.CutPrefix(bytes.TrimPrefix(reply, []byte("*1\r\n")), []byte("-"))
	if !found {
		return
	}
	text, _, _ = bytes.Cut(text, []byte("\r\n"))
	if _, known := p.texts[string(text)]; known {
		return
	}
	p.texts[string(text)] = strings.Join(line, " ")
	assert.NotEqual(p.t, fate.Unlisted, fate.Of(text), "%s\nis the reply to %q", text, line)
}
