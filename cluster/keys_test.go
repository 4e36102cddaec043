package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// split separates the name of a command line from its arguments. "”" is an
// empty argument.
func split(line string) (name string, args []string) {
	fields := strings.Fields(line)
	for i, f := range fields {
		if f == "''" {
			fields[i] = ""
		}
	}
	return fields[0], fields[1:]
}

// keysOf lists the keys that the table finds.
func keysOf(name string, args []string) []string {
	span := lookup(name, args).keys(args)
	keys := []string{}
	for i := span.first; i < span.end; i += span.step {
		keys = append(keys, args[i])
	}
	if span.extra >= 0 {
		keys = append(keys, args[span.extra])
	}
	return keys
}

// commandKeys lists command lines and the keys in them, wherever the rule is
// more than "all arguments from one to another", or the server that the tests
// run does not know the command. TestKeysEqualServer checks those that it knows.
var commandKeys = map[string]string{
	"BITOP AND d a b":                                   "d a b",
	"BITOP NOT d a":                                     "d a",
	"BLMPOP 0 2 a b LEFT":                               "a b",
	"BLMPOP 0 1 a LEFT COUNT 2":                         "a",
	"BZMPOP 0 2 a b MIN":                                "a b",
	"COPY a b DB 0":                                     "a b",
	"DEBUG OBJECT a":                                    "a",
	"DEBUG SLEEP 0":                                     "",
	"EVAL script 0":                                     "",
	"EVAL script 0 arg":                                 "",
	"EVAL script 2 a b arg":                             "a b",
	"EVALSHA sha 1 a":                                   "a",
	"EVAL_RO script 1 a b":                              "a",
	"EVALSHA_RO sha 1 a b":                              "a",
	"FCALL f 1 a b":                                     "a",
	"FCALL_RO f 2 a b c":                                "a b",
	"GEORADIUS a 1 2 3 m":                               "a",
	"GEORADIUS a 1 2 3 m STORE d":                       "a d",
	"GEORADIUS a 1 2 3 m COUNT 1 ANY":                   "a",
	"GEORADIUS a 1 2 3 m STORE c STOREDIST d":           "a d",
	"GEORADIUSBYMEMBER a store 3 m":                     "a",
	"GEORADIUSBYMEMBER a x 3 m storedist d":             "a d",
	"LMPOP 1 a LEFT COUNT 2":                            "a",
	"LMPOP 2 a b RIGHT":                                 "a b",
	"MEMORY USAGE a":                                    "a",
	"MEMORY USAGE a SAMPLES 5":                          "a",
	"MEMORY DOCTOR":                                     "",
	"MIGRATE h 1 a 0 10":                                "a",
	"MIGRATE h 1 a 0 10 COPY REPLACE AUTH p":            "a",
	"MIGRATE h 1 '' 0 10 KEYS a b":                      "a b",
	"MIGRATE h 1 '' 0 10 AUTH KEYS KEYS a":              "a",
	"MIGRATE h 1 '' 0 10 COPY AUTH2 KEYS KEYS KEYS a b": "a b",
	"MSET a 1 b 2":                                      "a b",
	"MSETNX a 1 b 2 c 3":                                "a b c",
	"OBJECT ENCODING a":                                 "a",
	"OBJECT FREQ a":                                     "a",
	"OBJECT HELP":                                       "",
	"PFDEBUG ENCODING a":                                "a",
	"SINTERCARD 2 a b LIMIT 5":                          "a b",
	"SORT a":                                            "a",
	"SORT a LIMIT 0 1 ALPHA":                            "a",
	"SORT a STORE d":                                    "a d",
	"SORT a BY STORE GET STORE STORE d":                 "a d",
	"SORT a STORE c STORE d":                            "a d",
	"SORT a LIMIT STORE STORE DESC":                     "a",
	"SORT_RO a BY x GET y":                              "a",
	"XGROUP CREATE a g $":                               "a",
	"XGROUP DESTROY a g":                                "a",
	"XGROUP HELP":                                       "",
	"XINFO STREAM a FULL":                               "a",
	"XINFO CONSUMERS a g":                               "a",
	"XREAD STREAMS a 0":                                 "a",
	"XREAD COUNT 2 BLOCK 0 STREAMS a b 0 0":             "a b",
	"XREADGROUP GROUP STREAMS STREAMS STREAMS a >":      "a",
	"xreadgroup group g c count 1 block 2 noack streams a b c 0 0 0": "a b c",
	"ZDIFF 2 a b WITHSCORES":                        "a b",
	"ZDIFFSTORE d 2 a b":                            "d a b",
	"ZINTER 2 a b WEIGHTS 1 2 AGGREGATE MAX":        "a b",
	"ZINTERCARD 2 a b LIMIT 1":                      "a b",
	"ZINTERSTORE d 1 a":                             "d a",
	"ZMPOP 2 a b MIN COUNT 10":                      "a b",
	"ZUNION 1 a":                                    "a",
	"ZUNIONSTORE d 3 a b c WEIGHTS 1 2 3 AGGREGATE": "d a b c",

	"SPUBLISH a m":   "a",
	"SSUBSCRIBE a b": "a b",

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

func TestCommandKeys(t *testing.T) {
	t.Parallel()
	for line, want := range commandKeys {
		name, args := split(line)
		assert.ElementsMatch(t, strings.Fields(want), keysOf(name, args), line)
		assert.ElementsMatch(t, strings.Fields(want), keysOf(strings.ToLower(name), args), "lower case of %s", line)
	}
}

func TestCommandSlot(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"GET a":                               "a",
		"sEt a 1":                             "a",
		"MGET {t}a {t}b":                      "t",
		"ZUNIONSTORE {t}d 2 {t}a {t}b":        "t",
		"SORT {t}a STORE {t}d":                "t",
		"EVALSHA x 2 {t}a {t}b {u}":           "t",
		"XREAD BLOCK 0 STREAMS {t}a {t}b 0 0": "t",
	} {
		name, args := split(line)
		slot, ok, err := CommandSlot(name, args)
		require.NoError(t, err, line)
		assert.True(t, ok, line)
		assert.Equal(t, Slot(want), slot, line)
	}
	_, ok, err := CommandSlot("PING", nil)
	assert.False(t, ok)
	assert.NoError(t, err)
}

func TestCrossSlotError(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"mget canary1 canary2", "ZUNIONSTORE canary1 1 canary2", "sort canary1 store canary2", "RENAME canary1 canary2",
		"EVAL canary 2 canary1 canary2", "MSET {canary1} canary {canary1} canary canary2 canary",
	} {
		name, args := split(line)
		_, ok, err := CommandSlot(name, args)
		assert.False(t, ok)
		require.ErrorIs(t, err, ErrCrossSlot, line)
		var cross *CrossSlotError
		require.True(t, errors.As(err, &cross))
		assert.Equal(t, strings.ToUpper(name), cross.Command)
		assert.ElementsMatch(t, []uint16{Slot("canary1"), Slot("canary2")}, cross.Slots[:])
		assert.NotContains(t, err.Error(), "canary")
	}
	_, _, err := CommandSlot("mget", []string{"foo", "bar"})
	assert.EqualError(t, err, "cluster: MGET: keys in different slots, 12182 and 5061")
}

func TestCommandTraits(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Traits{
		"GET a": ReadOnly, "mget a b": ReadOnly, "SET a 1": 0, "INCRBY a 1": 0, "EXPIRE a 1": 0, "GETEX a": 0,
		"PING": ReadOnly, "EVAL x 0": Slow, "EVAL_RO x 0": ReadOnly | Slow, "SORT a": Slow, "NO.SUCH.COMMAND a": 0,
		"OBJECT ENCODING a": ReadOnly, "memory usage a": ReadOnly, "MEMORY PURGE": 0, "XINFO STREAM a": ReadOnly,
		"BLPOP a 0": Blocking, "BZMPOP 0 1 a MIN": Blocking, "BLMOVE a b LEFT LEFT 0": Blocking, "WAIT 1 0": Blocking,
		"BRPOPLPUSH a b 0": Blocking, "WAITAOF 1 1 0": Blocking,
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
		"CLIENT NO-TOUCH on": Stateful, "CLIENT KILL ID 1": 0, "CLIENT ID": ReadOnly, "CLIENT": 0, "SCRIPT DEBUG YES": Stateful,
		"PUBLISH a b": 0, "CLUSTER SLOTS": ReadOnly, "CLUSTER FAILOVER": 0, "CONFIG GET x": ReadOnly, "CONFIG SET x y": 0,
		"DEBUG OBJECT a": ReadOnly, "DEBUG SLEEP 1": 0, "FLUSHALL": 0,
	} {
		name, args := split(line)
		assert.Equal(t, want, CommandTraits(name, args), line)
	}
}

func TestCommandTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range commandRows {
		assert.Positive(t, row.step, row.names)
		for name := range strings.FieldsSeq(row.names) {
			assert.False(t, seen[name], "%s is listed twice", name)
			seen[name] = true
			assert.Equal(t, strings.ToUpper(name), name)
			assert.LessOrEqual(t, len(name), maxName, name)
			container, sub, _ := strings.Cut(name, "|")
			c := lookup(strings.ToLower(container), []string{strings.ToLower(sub)})
			assert.Equal(t, row.rule, c.rule, name)
			assert.Contains(t, []string{container, sub}, c.name)
		}
	}
	assert.Less(t, len(seen), len(commands)/2)
}

func TestCommandSlotDoesNotAllocate(t *testing.T) {
	for _, line := range []string{
		"get a", "INCRBY a 1", "EXPIRE a 60", "MGET {t}a {t}b {t}c", "mset {t}a 1 {t}b 2", "EVALSHA x 2 {t}a {t}b c",
		"XREAD COUNT 1 BLOCK 0 STREAMS a 0", "SORT {t}a STORE {t}b", "object encoding a", "CLIENT TRACKING on", "no.such a",
	} {
		name, args := split(line)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, _, _ = CommandSlot(name, args)
			_ = CommandTraits(name, args)
		}), line)
	}
}

func FuzzCommandSlot(f *testing.F) {
	for line := range commandKeys {
		f.Add(strings.Join(strings.Fields(line), "\x1f"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		fields := strings.Split(line, "\x1f")
		name, args := fields[0], fields[1:]
		_ = CommandTraits(name, args)
		slot, ok, err := CommandSlot(name, args)
		if slot >= SlotCount || ok && err != nil || !ok && slot != 0 {
			t.Fatalf("CommandSlot(%q) = %d, %v, %v", fields, slot, ok, err)
		}
		if err != nil && (!errors.Is(err, ErrCrossSlot) || len(err.Error()) > 120) {
			t.Fatalf("CommandSlot(%q): %v", fields, err)
		}
		keys := keysOf(name, args)
		if ok != (len(keys) > 0) && err == nil {
			t.Fatalf("CommandSlot(%q) = %v with keys %q", fields, ok, keys)
		}
		for _, key := range keys {
			if ok && Slot(key) != slot {
				t.Fatalf("CommandSlot(%q) = %d, but key %q is in %d", fields, slot, key, Slot(key))
			}
		}
	})
}

func BenchmarkCommandSlot(b *testing.B) {
	for _, line := range []string{
		"GET user:{1000}:name", "incrby user:{1000}:hits 1", "EXPIRE user:{1000}:hits 60",
		"MGET {t}1 {t}2 {t}3 {t}4 {t}5 {t}6 {t}7 {t}8", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 user:{1000} 5",
	} {
		name, args := split(line)
		b.Run(fmt.Sprintf("%s/args=%d", name, len(args)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = CommandSlot(name, args)
			}
		})
	}
}
