package cluster

import "strings"

// A rule is what has to be known of a command: where its keys are and how it
// may travel.
type rule struct {
	find finder
	// Places in the arguments after the name. A negative last counts from
	// the end, -1 being the last argument.
	first, last, step int8
	traits            Traits
}

// A command is a rule with the name, in upper case, of whom it is for. A
// subcommand that is not listed has the rule of its container.
type command struct {
	name string
	rule
	slow        slowness
	subcommands []command
}

// A finder is a rule that tells which arguments are keys.
type finder uint8

const (
	byNone       finder = iota // there are none
	byRange                    // first, first+step, ..., last
	byCount                    // args[first] is their number; they follow it
	byCountStore               // the same, and args[0] is one more
	byStreams                  // XREAD, XREADGROUP
	bySortStore                // SORT
	byGeoStore                 // GEORADIUS, GEORADIUSBYMEMBER
	byMigrate                  // MIGRATE
)

// unknownCommand has its key where almost every command has it.
var unknownCommand = command{rule: rule{find: byRange, step: 1}}

// commands holds the commands of commandRows.
var commands = makeCommands()

func makeCommands() *commandTable {
	t := new(commandTable)
	for _, row := range commandRows {
		for name := range strings.FieldsSeq(row.names) {
			container, sub, isSub := strings.Cut(name, "|")
			if isSub {
				c := t.find(container)
				c.subcommands = append(c.subcommands, command{name: sub, rule: row.rule})
			} else {
				t.add(&command{name: name, rule: row.rule})
			}
		}
	}
	for _, row := range slowRows {
		for name := range strings.FieldsSeq(row.names) {
			t.find(name).slow = row.slowness
		}
	}
	return t
}

// commandRows lists every command of Redis 8 whose rule is not that of
// unknownCommand, and many that have it, with commands of modules where the
// rule is simple. Subcommands are NAME|SUBCOMMAND, after the row of NAME.
var commandRows = []struct {
	rule
	names string
}{
	// The key is the first argument.
	{rule{byRange, 0, 0, 1, ReadOnly}, `
		BITCOUNT BITFIELD_RO BITPOS DIGEST DUMP EXPIRETIME GEODIST GEOHASH GEOPOS
		GEORADIUS_RO GEORADIUSBYMEMBER_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS
		HEXPIRETIME HGET HGETALL HKEYS HLEN HMGET HPEXPIRETIME HPTTL HRANDFIELD
		HSCAN HSTRLEN HTTL HVALS LINDEX LLEN LPOS LRANGE PEXPIRETIME PTTL SCARD
		SISMEMBER SMEMBERS SMISMEMBER SORT_RO SRANDMEMBER SSCAN STRLEN SUBSTR TTL
		TYPE VCARD VDIM VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VRANGE
		VSIM XLEN XPENDING XRANGE XREVRANGE ZCARD ZCOUNT ZLEXCOUNT ZMSCORE
		ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE
		ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE
		JSON.ARRINDEX JSON.ARRLEN JSON.GET JSON.OBJKEYS JSON.OBJLEN JSON.RESP
		JSON.STRLEN JSON.TYPE`},
	{rule{byRange, 0, 0, 1, 0}, `
		APPEND BITFIELD DECR DECRBY DELEX DELIFEQ EXPIRE EXPIREAT GEOADD GETDEL
		GETEX GETSET HDEL HEXPIRE HEXPIREAT HGETDEL HGETEX HINCRBY HINCRBYFLOAT
		HMSET HPERSIST HPEXPIRE HPEXPIREAT HSET HSETEX HSETNX INCR INCRBY
		INCRBYFLOAT LINSERT LPOP LPUSH LPUSHX LREM LSET LTRIM MOVE PERSIST
		PEXPIRE PEXPIREAT PFADD PSETEX RESTORE RESTORE-ASKING RPOP RPUSH RPUSHX
		SADD SET SETBIT SETEX SETNX SETRANGE SPOP SPUBLISH SREM VADD VREM
		VSETATTR XACK XACKDEL XADD XAUTOCLAIM XCFGSET XCLAIM XDEL XDELEX XSETID
		XTRIM ZADD ZINCRBY ZPOPMAX ZPOPMIN ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK
		ZREMRANGEBYSCORE`},

	// All, or all but the last, arguments are keys; or every second or third.
	{rule{byRange, 0, -1, 1, ReadOnly}, `EXISTS MGET PFCOUNT SDIFF SINTER SUNION TOUCH`},
	{rule{byRange, 0, -1, 1, 0}, `DEL PFMERGE SDIFFSTORE SINTERSTORE SUNIONSTORE UNLINK`},
	{rule{byRange, 0, -1, 1, Stateful}, `SSUBSCRIBE SUNSUBSCRIBE WATCH`},
	{rule{byRange, 0, -2, 1, Blocking}, `BLPOP BRPOP BZPOPMAX BZPOPMIN`},
	{rule{byRange, 0, -2, 1, ReadOnly}, `JSON.MGET`},
	{rule{byRange, 0, -1, 2, 0}, `MSET MSETNX`},
	{rule{byRange, 0, -1, 3, 0}, `JSON.MSET TS.MADD`},

	// Two keys.
	{rule{byRange, 0, 1, 1, ReadOnly}, `LCS`},
	{rule{byRange, 0, 1, 1, 0}, `
		COPY GEOSEARCHSTORE LMOVE RENAME RENAMENX RPOPLPUSH SMOVE TS.CREATERULE
		TS.DELETERULE ZRANGESTORE`},
	{rule{byRange, 0, 1, 1, Blocking}, `BLMOVE BRPOPLPUSH`},
	{rule{byRange, 1, -1, 1, 0}, `BITOP`},

	// A number, then as many keys.
	{rule{byCount, 0, 0, 1, ReadOnly}, `SINTERCARD ZDIFF ZINTER ZINTERCARD ZUNION`},
	{rule{byCount, 0, 0, 1, 0}, `LMPOP ZMPOP`},
	{rule{byCount, 0, 0, 2, 0}, `MSETEX`},
	{rule{byCount, 1, 0, 1, 0}, `EVAL EVALSHA FCALL`},
	{rule{byCount, 1, 0, 1, ReadOnly}, `EVAL_RO EVALSHA_RO FCALL_RO`},
	{rule{byCount, 1, 0, 1, Blocking}, `BLMPOP BZMPOP`},
	{rule{byCountStore, 1, 0, 1, 0}, `
		ZDIFFSTORE ZINTERSTORE ZUNIONSTORE CMS.MERGE TDIGEST.MERGE`},

	// Rules of their own.
	{rule{byStreams, 0, 0, 1, ReadOnly}, `XREAD`},
	{rule{byStreams, 0, 0, 1, 0}, `XREADGROUP`},
	{rule{bySortStore, 0, 0, 1, 0}, `SORT`},
	{rule{byGeoStore, 0, 0, 1, 0}, `GEORADIUS GEORADIUSBYMEMBER`},
	{rule{byMigrate, 0, 0, 1, 0}, `MIGRATE`},

	// Subcommands with a key.
	{rule{byRange, 1, 1, 1, 0}, `PFDEBUG XGROUP`},
	{rule{byRange, 1, 1, 1, ReadOnly}, `OBJECT XINFO`},
	{rule{byNone, 0, 0, 1, ReadOnly}, `OBJECT|HELP XINFO|HELP XGROUP|HELP`},
	{rule{byNone, 0, 0, 1, 0}, `DEBUG JSON.DEBUG MEMORY`},
	{rule{byRange, 1, 1, 1, ReadOnly}, `
		DEBUG|LISTPACK DEBUG|OBJECT DEBUG|ZIPLIST DEBUG|SDSLEN
		DEBUG|QUICKLIST DEBUG|HTSTATS-KEY JSON.DEBUG|MEMORY MEMORY|USAGE`},

	// No key, about the server. What changes nothing is ReadOnly.
	{rule{byNone, 0, 0, 1, ReadOnly}, `
		COMMAND DBSIZE ECHO INFO KEYS LASTSAVE LOLWUT PING PUBSUB RANDOMKEY ROLE
		SCAN TIME FT._LIST TS.MGET TS.MRANGE TS.MREVRANGE TS.QUERYINDEX`},
	{rule{byNone, 0, 0, 1, 0}, `
		ACL BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMANDLOG CONFIG FAILOVER
		FLUSHALL FLUSHDB FUNCTION HOTKEYS LATENCY MODULE PFSELFTEST PUBLISH
		REPLICAOF SAVE SCRIPT SHUTDOWN SLAVEOF SLOWLOG SWAPDB`},
	{rule{byNone, 0, 0, 1, ReadOnly}, `
		CLIENT|GETNAME CLIENT|ID CLIENT|INFO CLIENT|LIST CLUSTER|COUNTKEYSINSLOT
		CLUSTER|GETKEYSINSLOT CLUSTER|INFO CLUSTER|KEYSLOT CLUSTER|LINKS
		CLUSTER|MYID CLUSTER|MYSHARDID CLUSTER|NODES CLUSTER|REPLICAS
		CLUSTER|SHARDS CLUSTER|SLAVES CLUSTER|SLOTS CLUSTER|SLOT-STATS CONFIG|GET
		FUNCTION|DUMP FUNCTION|LIST FUNCTION|STATS MEMORY|DOCTOR
		MEMORY|MALLOC-STATS MEMORY|STATS SCRIPT|EXISTS SLOWLOG|GET SLOWLOG|LEN`},
	{rule{byNone, 0, 0, 1, Blocking}, `WAIT WAITAOF`},

	// No key, about the connection.
	{rule{byNone, 0, 0, 1, Stateful}, `
		ASKING AUTH DISCARD EXEC HELLO MONITOR MULTI PSUBSCRIBE PSYNC
		PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF RESET SELECT SUBSCRIBE SYNC
		UNSUBSCRIBE UNWATCH
		CLIENT|CACHING CLIENT|CAPA CLIENT|IMPORT-SOURCE CLIENT|NO-EVICT
		CLIENT|NO-TOUCH CLIENT|REPLY CLIENT|SETINFO CLIENT|SETNAME
		CLIENT|TRACKING SCRIPT|DEBUG`},
}
