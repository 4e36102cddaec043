package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/resp"
)

// slowness says when a command is slow by default.
type slowness uint8

const (
	neverSlow slowness = iota
	alwaysSlow
	slowWithManyKeys
)

// manyKeys is how many keys a command such as MGET may have and still count as
// fast.
const manyKeys = 100

// slowRows are the default for which commands are slow: those that read or
// combine whole collections or the whole key space, and scripts, which may do
// anything.
var slowRows = [...]struct {
	slowness
	names string
}{
	{alwaysSlow, `
		HGETALL HKEYS HVALS SMEMBERS LRANGE XRANGE XREVRANGE DUMP
		ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE
		KEYS SCAN HSCAN SSCAN ZSCAN SORT SORT_RO LCS BITOP
		SDIFF SDIFFSTORE SINTER SINTERCARD SINTERSTORE SUNION SUNIONSTORE
		ZDIFF ZDIFFSTORE ZINTER ZINTERCARD ZINTERSTORE ZUNION ZUNIONSTORE
		GEORADIUS GEORADIUS_RO GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEOSEARCH GEOSEARCHSTORE
		EVAL EVAL_RO EVALSHA EVALSHA_RO FCALL FCALL_RO`},
	{slowWithManyKeys, `DEL EXISTS MGET MSET MSETNX PFCOUNT PFMERGE TOUCH UNLINK`},
}

// SlowCommands returns the names, in upper case and sorted, of the commands that
// are slow by default: those that read or combine whole collections or the key
// space (HGETALL, LRANGE, KEYS, SCAN, SORT, SUNION and the like), scripts, and
// DEL, EXISTS, MGET, MSET, MSETNX, PFCOUNT, PFMERGE, TOUCH and UNLINK, which are
// slow only with more than 100 keys. Besides, 1,000 commands or more of one
// request for one node travel as slow ones do, whatever they are.
func SlowCommands() []string {
	var names []string
	for _, row := range slowRows {
		names = append(names, strings.Fields(row.names)...)
	}
	slices.Sort(names)
	return names
}

// isSlow tells whether the command is slow by default, with so many arguments
// after its name.
func (c *command) isSlow(args int) bool {
	return c.slow == alwaysSlow || c.slow == slowWithManyKeys && args/int(c.step) > manyKeys
}

// overrides are what a client's settings say: which commands are slow, in upper
// case, whatever the default says.
type overrides map[string]bool

func (c Config) overrides() (overrides, error) {
	o := make(overrides, len(c.Fast)+len(c.Slow))
	for _, list := range [...]struct {
		field string
		names []string
		slow  bool
	}{{"Fast", c.Fast, false}, {"Slow", c.Slow, true}} { // Slow is the last word
		for i, name := range list.names {
			if name == "" || strings.ContainsAny(name, " \t\r\n|") {
				return nil, fmt.Errorf("cluster: %s[%d] = %q: want the name of a command, such as HGETALL", list.field, i, name)
			}
			o[strings.ToUpper(name)] = list.slow
		}
	}
	return o, nil
}

// CommandTraits is the function [CommandTraits] with this client's settings of
// which commands are slow.
func (c *Client) CommandTraits(name string, args []string) Traits {
	return c.slow.apply(name, CommandTraits(name, args))
}

// EncodedTraits is [Client.CommandTraits] for an encoded command, but without
// regard to subcommands.
func (c *Client) EncodedTraits(encoded []byte) Traits {
	name := resp.CommandName(encoded)
	rule := lookup(name, nil)
	var args []string
	if rule.find == byStreams {
		args = arguments(encoded)
	}
	return c.slow.apply(name, rule.traitsOf(args, resp.Elements(encoded)-1))
}

func arguments(encoded []byte) (args []string) {
	for i := 1; ; i++ {
		arg, ok := resp.Argument(encoded, i)
		if !ok {
			return args
		}
		args = append(args, string(arg))
	}
}

func (o overrides) apply(name string, t Traits) Traits {
	if len(o) == 0 {
		return t
	}
	switch slow, set := o[strings.ToUpper(name)]; {
	case !set:
		return t
	case slow:
		return t | Slow
	}
	return t &^ Slow
}

// noteSlowSlots notes the slots of the commands that are marked as slow. The
// other commands of these slots must travel with them, to keep their order.
func (r *Request) noteSlowSlots() {
	for i, m := range r.marks {
		if m&markSlow != 0 {
			r.slowSlots = append(r.slowSlots, r.slots[i])
		}
	}
	slices.Sort(r.slowSlots)
	r.slowSlots = slices.Compact(r.slowSlots)
}

// travelsSlow tells whether the i-th command travels on lanes for slow commands.
func (r *Request) travelsSlow(i int) bool {
	_, slow := slices.BinarySearch(r.slowSlots, r.slots[i])
	return slow
}

// splitSlow takes the commands that travel slow out of the n groups, and makes
// groups of their own for them, behind the others. Groups that would be empty are
// left out. It returns how many groups are left of the fast ones, and how many
// there are in all.
func (r *Request) splitSlow(n int) (fast, all int) {
	next := int32(0)
	for _, slow := range [...]bool{false, true} {
		fast = int(next)
		r.numbers = resize(r.numbers, n)
		for g := range r.numbers {
			r.numbers[g] = noGroup
		}
		for i, g := range r.groups {
			if g == noGroup || r.travelsSlow(i) != slow {
				continue
			}
			if r.numbers[g] == noGroup {
				r.numbers[g] = next
				next++
			}
			r.groups[i] = r.numbers[g]
		}
	}
	return fast, int(next)
}
