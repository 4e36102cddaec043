package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redislanes/redislanes/internal/resp"
)

// encode encodes a command line. "”" is an empty argument.
func encode(line string) []byte {
	fields := strings.Fields(line)
	for i, f := range fields {
		if f == "''" {
			fields[i] = ""
		}
	}
	return resp.AppendCommand(nil, fields[0], fields[1:]...)
}

// keysOf lists the keys of an encoded command.
func keysOf(encoded []byte) []string {
	list := []string{}
	for keys := Of(encoded).Keys(); ; {
		key, ok := keys.Next()
		if !ok {
			return list
		}
		list = append(list, string(key))
	}
}

// commandKeys lists command lines and the keys in them, wherever the rule is
// more than "all arguments from one to another", or the server that the tests
// run does not know the command. TestKeysEqualServers checks those that they know.
var commandKeys = map[string]string{
	"BITOP AND d a b":                              "d a b",
	"BITOP NOT d a":                                "d a",
	"BLMPOP 0 2 a b LEFT":                          "a b",
	"BLMPOP 0 1 a LEFT COUNT 2":                    "a",
	"BZMPOP 0 2 a b MIN":                           "a b",
	"COPY a b DB 0":                                "a b",
	"DEBUG OBJECT a":                               "a",
	"DEBUG SLEEP 0":                                "",
	"EVAL script 0":                                "",
	"EVAL script 0 arg":                            "",
	"EVAL script 2 a b arg":                        "a b",
	"EVALSHA sha 1 a":                              "a",
	"EVAL_RO script 1 a b":                         "a",
	"EVALSHA_RO sha 1 a b":                         "a",
	"FCALL f 1 a b":                                "a",
	"FCALL_RO f 2 a b c":                           "a b",
	"GEORADIUS a 1 2 3 m":                          "a",
	"GEORADIUS a 1 2 3 m STORE d":                  "a d",
	"GEORADIUS a 1 2 3 m COUNT 1 ANY":              "a",
	"GEORADIUS a 1 2 3 m STORE c STOREDIST d":      "a d",
	"GEORADIUSBYMEMBER a store 3 m":                "a",
	"GEORADIUSBYMEMBER a x 3 m storedist d":        "a d",
	"LMPOP 1 a LEFT COUNT 2":                       "a",
	"LMPOP 2 a b RIGHT":                            "a b",
	"MEMORY USAGE a":                               "a",
	"MEMORY USAGE a SAMPLES 5":                     "a",
	"MEMORY DOCTOR":                                "",
	"MIGRATE h 1 a 0 10":                           "a",
	"MIGRATE h 1 a 0 10 COPY REPLACE AUTH p":       "a",
	"MSET a 1 b 2":                                 "a b",
	"MSETNX a 1 b 2 c 3":                           "a b c",
	"OBJECT ENCODING a":                            "a",
	"OBJECT FREQ a":                                "a",
	"OBJECT HELP":                                  "",
	"PFDEBUG ENCODING a":                           "a",
	"SINTERCARD 2 a b LIMIT 5":                     "a b",
	"SORT a":                                       "a",
	"SORT a LIMIT 0 1 ALPHA":                       "a",
	"SORT a STORE d":                               "a d",
	"SORT a BY STORE GET STORE STORE d":            "a d",
	"SORT a STORE c STORE d":                       "a d",
	"SORT a LIMIT STORE STORE DESC":                "a",
	"SORT_RO a BY x GET y":                         "a",
	"XGROUP CREATE a g $":                          "a",
	"XGROUP DESTROY a g":                           "a",
	"XGROUP HELP":                                  "",
	"XINFO STREAM a FULL":                          "a",
	"XINFO CONSUMERS a g":                          "a",
	"XREAD STREAMS a 0":                            "a",
	"XREAD COUNT 2 BLOCK 0 STREAMS a b 0 0":        "a b",
	"XREADGROUP GROUP STREAMS STREAMS STREAMS a >": "a",
	"xreadgroup group g c count 1 block 2 noack streams a b c 0 0 0": "a b c",
	"ZDIFF 2 a b WITHSCORES":                        "a b",
	"ZDIFFSTORE d 2 a b":                            "d a b",
	"ZINTER 2 a b WEIGHTS 1 2 AGGREGATE MAX":        "a b",
	"ZINTERCARD 2 a b LIMIT 1":                      "a b",
	"ZINTERSTORE d 1 a":                             "d a",
	"ZMPOP 2 a b MIN COUNT 10":                      "a b",
	"ZUNION 1 a":                                    "a",
	"ZUNIONSTORE d 3 a b c WEIGHTS 1 2 3 AGGREGATE": "d a b c",

	"STRALGO LCS KEYS a b": "",
	"SPUBLISH a m":         "a",
	"SSUBSCRIBE a b":       "a b",

	// Since Redis 7.2, and modules.
	"HGETEX a FIELDS 1 f":                               "a",
	"MSETEX 2 a 1 b 2 EX 10":                            "a b",
	"XREADGROUP GROUP g c CLAIM 5 STREAMS a >":          "a",
	"XACKDEL a g IDS 1 0-1":                             "a",
	"VSIM a ELE e":                                      "a",
	"WAITAOF 1 0 0":                                     "",
	"CLUSTER SLOT-STATS SLOTSRANGE 0 1":                 "",
	"JSON.GET a $":                                      "a",
	"JSON.MGET a b $":                                   "a b",
	"JSON.MSET a $ 1 b $ 2":                             "a b",
	"JSON.DEBUG MEMORY a":                               "a",
	"TS.MADD a 1 2 b 1 2":                               "a b",
	"TS.MRANGE - + FILTER x=y":                          "",
	"CMS.MERGE d 2 a b WEIGHTS 1 2":                     "d a b",
	"BF.ADD a x":                                        "a",
	"FT.SEARCH i query":                                 "i",
	"FT.CURSOR READ i 1":                                "i",
	"FT.CONFIG GET *":                                   "",
	"HIMPORT SET a fields 1":                            "a",
	"HIMPORT PREPARE fields f":                          "",
	"SDIFFCARD 2 a b":                                   "a b",
	"SUNIONCARD 2 a b":                                  "a b",
	"LMOVEM a b LEFT RIGHT":                             "a b",
	"NO.SUCH.COMMAND a b":                               "a",
	"A-NAME-THAT-IS-LONGER-THAN-ANY-COMMAND-OF-ALL a b": "a",

	// No key.
	"PING": "", "ECHO x": "", "INFO server": "", "CONFIG GET x": "", "SCRIPT LOAD x": "", "PUBLISH a m": "",
	"CLUSTER KEYSLOT a": "", "SCAN 0": "", "WAIT 1 0": "", "CLIENT KILL ID 3": "", "CLIENT SETNAME a": "",
	"SUBSCRIBE a": "", "MULTI": "", "KEYS *": "", "PUBSUB NUMSUB a": "", "FUNCTION LOAD x": "",

	// Malformed: what can be told, or nothing; the server explains.
	"GET": "", "MGET": "", "BLPOP a": "", "SORT": "", "MSET a": "a", "EVAL script": "", "EVAL script x a": "",
	"EVAL script -1 a": "", "EVAL script 2 a": "", "EVAL script 99999999999999999999 a": "", "EVAL script '' a": "",
	"ZUNIONSTORE d": "d", "ZUNIONSTORE d 9 a": "d", "XREAD COUNT": "", "XREAD STREAMS": "", "XREAD BLOCK STREAMS a 0": "",
	"MSETEX 2 a 1 b": "a b", "MSETEX 3 a 1 b 2": "", "SORT a STORE": "a", "MIGRATE h 1": "", "MIGRATE h 1 a": "a",
	"OBJECT": "", "OBJECT ENCODING": "", "MEMORY": "", "NO.SUCH.COMMAND": "", "GEORADIUS": "",
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for line, want := range commandKeys {
		assert.ElementsMatch(t, strings.Fields(want), keysOf(encode(line)), line)
		name, args, _ := strings.Cut(line, " ")
		assert.ElementsMatch(t, strings.Fields(want), keysOf(encode(strings.ToLower(name)+" "+args)), "lower case of %s", line)
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Traits{
		"GET a": ReadOnly, "mget a b": ReadOnly, "SET a 1": 0, "INCRBY a 1": 0, "EXPIRE a 1": 0, "GETEX a": 0,
		"PING": ReadOnly, "EVAL x 0": Slow | MayWrite, "FCALL f 0": Slow | MayWrite, "EVAL_RO x 0": ReadOnly | Slow, "SORT a": Slow, "NO.SUCH.COMMAND a": MayWrite,
		"OBJECT ENCODING a": ReadOnly, "memory usage a": ReadOnly, "MEMORY PURGE": 0, "XINFO STREAM a": ReadOnly,
		"BLPOP a 0": Blocking, "BZMPOP 0 1 a MIN": Blocking, "BLMOVE a b LEFT LEFT 0": Blocking, "WAIT 1 0": Blocking | Stateful,
		"BRPOPLPUSH a b 0": Blocking, "WAITAOF 1 1 0": Blocking | Stateful,
		"XREAD STREAMS a 0": ReadOnly, "XREAD BLOCK 0 STREAMS a 0": ReadOnly | Blocking,
		"XREAD STREAMS block 0": ReadOnly, "xread count block streams a 0": ReadOnly,
		"XREADGROUP GROUP g c STREAMS a >": 0, "XREADGROUP GROUP block c block 0 STREAMS a >": Blocking,
		"XREADGROUP GROUP g block STREAMS a >": 0,
		"MULTI":                                Stateful, "exec": Stateful, "DISCARD": Stateful, "WATCH a": Stateful, "UNWATCH": Stateful,
		"SUBSCRIBE a": Stateful, "PSUBSCRIBE a": Stateful, "SSUBSCRIBE a": Stateful, "SUNSUBSCRIBE": Stateful,
		"MONITOR": Stateful, "SELECT 1": Stateful, "AUTH x": Stateful, "HELLO 3": Stateful, "RESET": Stateful,
		"QUIT": Stateful, "READONLY": Stateful, "READWRITE": Stateful, "ASKING": Stateful, "SYNC": Stateful,
		"PSYNC x 1": Stateful, "CLIENT REPLY OFF": Stateful, "client tracking on": Stateful, "CLIENT NO-EVICT on": Stateful,
		"CLIENT SETNAME x": Stateful, "CLIENT SETINFO LIB-NAME x": Stateful, "CLIENT CACHING YES": Stateful,
		"CLIENT NO-TOUCH on": Stateful, "CLIENT KILL ID 1": 0, "CLIENT ID": ReadOnly, "CLIENT": Stateful, "CLIENT NO-SUCH": Stateful, "CLIENT LIST": ReadOnly,
		"REPLCONF ACK 0": Stateful, "REPLCONF GETACK *": Stateful, "SHUTDOWN": Blocking,
		"HGETALL a": ReadOnly | Slow, "SCRIPT DEBUG YES": Stateful,
		"PUBLISH a b": MayWrite, "SPUBLISH a b": MayWrite, "PFCOUNT a": ReadOnly, "CLUSTER SLOTS": ReadOnly, "CLUSTER FAILOVER": 0, "CONFIG GET x": ReadOnly, "CONFIG SET x y": 0,
		"DEBUG OBJECT a": ReadOnly, "DEBUG SLEEP 1": 0, "FLUSHALL": 0,
	} {
		assert.Equal(t, want, Of(encode(line)).Traits(), line)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Effect{
		"GET a": NoEffect, "no.such a": NoEffect, "CLIENT ID": NoEffect, "CLIENT LIST": NoEffect, "SCRIPT LOAD x": NoEffect,
		"multi": OpensTransaction, "EXEC": EndsTransaction, "DISCARD": EndsTransaction, "WATCH a": Watches, "UNWATCH": Unwatches,
		"ASKING": Changes, "CLIENT CACHING yes": Changes, "SELECT 1": Changes, "READONLY": Changes, "READWRITE": Changes,
		"AUTH x": Changes, "HELLO 3": Changes, "CLIENT NO-EVICT on": Changes, "client setname x": Changes,
		"CLIENT TRACKING on": Changes, "CLIENT NEW-IN-REDIS-9": Changes, "CLIENT": Changes, "SCRIPT DEBUG YES": Changes,
		"RESET": Changes, "QUIT": Unanswered, "POST": Unanswered, "SUBSCRIBE a": Unanswered, "SUNSUBSCRIBE": Unanswered, "MONITOR": Unanswered,
		"PSYNC ? -1": Unanswered, "SYNC": Unanswered, "REPLCONF ACK 0": Unanswered, "replconf getack *": Unanswered, "REPLCONF capa eof ack 0": Unanswered,
		"CLIENT REPLY OFF": Unanswered, "CLIENT REPLY SKIP": Unanswered, "CLUSTER SYNCSLOTS ACK": Unanswered, "CLUSTER SLOTS": NoEffect,
	} {
		assert.Equal(t, want, Of(encode(line)).Effect(), line)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range rows {
		assert.Positive(t, row.step, row.names)
		for name := range strings.FieldsSeq(row.names) {
			assert.False(t, seen[name], "%s is listed twice", name)
			seen[name] = true
			assert.Equal(t, strings.ToUpper(name), name)
			assert.LessOrEqual(t, len(name), maxName, name)
			container, sub, _ := strings.Cut(name, "|")
			c := Of(encode(strings.ToLower(container + " " + sub)))
			got := c.rule.form
			got.traits &^= Stateful
			assert.Equal(t, row.form, got, name)
			assert.Contains(t, []string{container, sub}, c.rule.name)
			assert.Equal(t, container, c.Name())
			assert.True(t, c.Known())
		}
	}
	for _, row := range effectRows {
		for name := range strings.FieldsSeq(row.names) {
			assert.True(t, seen[name], "%s is not in the table", name)
			c := Of(encode(strings.Replace(name, "|", " ", 1)))
			assert.Equal(t, row.Effect, c.Effect(), name)
			assert.NotZero(t, c.Traits()&Stateful, name)
		}
	}
	for _, name := range SlowNames() {
		assert.True(t, seen[name], "%s is not in the table", name)
	}
	names := 0
	for _, r := range rules {
		if r != nil {
			names++
		}
	}
	assert.Less(t, names, len(rules)/2)
}

func TestAskingDoesNotAllocate(t *testing.T) {
	for _, line := range []string{
		"get a", "INCRBY a 1", "MGET a b c", "mset a 1 b 2", "EVALSHA x 2 a b c", "XREAD COUNT 1 BLOCK 0 STREAMS a 0",
		"SORT a STORE b", "object encoding a", "CLIENT TRACKING on", "ZUNIONSTORE d 2 a b", "no.such a",
	} {
		encoded := encode(line)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			c := Of(encoded)
			_, _ = c.Traits(), c.Effect()
			for keys := c.Keys(); ; {
				if _, ok := keys.Next(); !ok {
					return
				}
			}
		}), line)
	}
}

// FuzzKeys: whatever the arguments are, also if the encoding ends early, the
// keys are arguments, and no more than those.
func FuzzKeys(f *testing.F) {
	for line := range commandKeys {
		f.Add(encode(line), 0)
	}
	f.Add([]byte("*3\r\n$3\r\nDEL\r\n$999999999999999999\r\na"), 1)
	f.Fuzz(func(t *testing.T, encoded []byte, cut int) {
		encoded = encoded[:max(0, len(encoded)-max(cut, 0))]
		c := Of(encoded)
		_, _, _ = c.Traits(), c.Effect(), c.Name()
		var args []string
		for i := 0; ; i++ {
			arg, ok := resp.Argument(encoded, i)
			if !ok {
				break
			}
			args = append(args, string(arg))
		}
		keys := keysOf(encoded)
		if len(keys) > len(args) {
			t.Fatalf("%q: keys %q of the elements %q", encoded, keys, args)
		}
		for _, key := range keys {
			if !slices.Contains(args, key) {
				t.Fatalf("%q: the key %q is none of the elements", encoded, key)
			}
		}
	})
}
