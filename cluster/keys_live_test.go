package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/redistest"
)

// dialServer starts a redis-server and connects to it.
func dialServer(t *testing.T) (context.Context, radix.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	addr := redistest.StartServer(t, redistest.Options{}).Addrs()[0]
	return ctx, dialAll(t, ctx, []string{addr})[addr]
}

// serverCommand is what COMMAND tells about a command.
type serverCommand struct {
	name              string // of a subcommand "container|sub"
	arity             int
	flags             []string
	first, last, step int
	hasSubcommands    bool
}

func serverCommands(t *testing.T, ctx context.Context, conn radix.Conn) []serverCommand {
	t.Helper()
	var reply []any
	require.NoError(t, conn.Do(ctx, radix.Cmd(&reply, "COMMAND")))
	var commands []serverCommand
	var add func(rows []any)
	add = func(rows []any) {
		for _, row := range rows {
			f := row.([]any)
			c := serverCommand{name: strings.ToUpper(fmt.Sprintf("%s", f[0]))}
			for i, n := range []*int{1: &c.arity, 3: &c.first, 4: &c.last, 5: &c.step} {
				if n != nil {
					*n = int(f[i].(int64))
				}
			}
			for _, flag := range f[2].([]any) {
				c.flags = append(c.flags, fmt.Sprint(flag))
			}
			subs := f[9].([]any)
			c.hasSubcommands = len(subs) > 0
			commands = append(commands, c)
			add(subs)
		}
	}
	add(reply)
	require.Greater(t, len(commands), 300)
	return commands
}

// line makes up a command line with enough arguments.
func (c serverCommand) line() string {
	n := max(c.arity, -c.arity)
	if c.arity < 0 && c.step > 0 {
		n += 4 - 4%c.step
	}
	line := strings.Replace(c.name, "|", " ", 1)
	for i := len(strings.Fields(line)); i < n; i++ {
		line += fmt.Sprintf(" arg%d", i)
	}
	return line
}

// keyDifferences lists lines, or names, where keysOf is meant to differ from
// COMMAND GETKEYS.
var keyDifferences = map[string]string{
	"SPUBLISH":                "a channel is no key, but has a slot, by which the server redirects",
	"SSUBSCRIBE":              "the same",
	"SUNSUBSCRIBE":            "the same",
	"DEBUG OBJECT a":          "has no key specification, but fails on a node without the key",
	"XREAD BLOCK STREAMS a 0": "malformed",
	"GEORADIUS a 1 2 3 m STORE c STOREDIST d": "malformed: the last one counts, the server lists both",
}

func TestKeysEqualServer(t *testing.T) {
	t.Parallel()
	ctx, conn := dialServer(t)
	lines := map[string]bool{}
	for line := range commandKeys {
		lines[line] = true
	}
	known := map[string]bool{}
	for _, c := range serverCommands(t, ctx, conn) {
		known[c.name] = true
		if !c.hasSubcommands && !slices.Contains(c.flags, "movablekeys") {
			lines[c.line()] = true
			continue
		}
		assert.True(t, c.hasSubcommands || slices.ContainsFunc(mapKeys(commandKeys), func(line string) bool {
			name, _ := split(line)
			return strings.EqualFold(name, c.name)
		}), "commandKeys has no line for %s", c.name)
	}
	checked := 0
	for line := range lines {
		name, args := split(line)
		if !known[strings.ToUpper(name)] || keyDifferences[line] != "" || keyDifferences[name] != "" {
			continue
		}
		want := []string{}
		err := conn.Do(ctx, radix.Cmd(&want, "COMMAND", append([]string{"GETKEYS", name}, args...)...))
		if err != nil && !strings.Contains(err.Error(), "The command has no key arguments") {
			continue // refused as malformed
		}
		assert.ElementsMatch(t, want, keysOf(name, args), line)
		checked++
	}
	assert.Greater(t, checked, 300)
}

func mapKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// Where CommandTraits is meant to differ from the flags of the server.
const (
	// WAIT blocks its connection, but has no flag before Redis 7.2; the two
	// others block with the option BLOCK only.
	otherBlocking = "WAIT XREAD XREADGROUP"
	// The flag is about reading keys. These tell something about the server
	// or the connection and change nothing, so that they may be repeated.
	otherReadOnly = `
		CLIENT|GETNAME CLIENT|ID CLIENT|INFO CLIENT|LIST CLUSTER|COUNTKEYSINSLOT
		CLUSTER|GETKEYSINSLOT CLUSTER|INFO CLUSTER|KEYSLOT CLUSTER|LINKS CLUSTER|MYID
		CLUSTER|NODES CLUSTER|REPLICAS CLUSTER|SHARDS CLUSTER|SLAVES CLUSTER|SLOTS
		COMMAND|COUNT COMMAND|DOCS COMMAND|GETKEYS COMMAND|GETKEYSANDFLAGS COMMAND|HELP
		COMMAND|INFO COMMAND|LIST CONFIG|GET ECHO FUNCTION|DUMP FUNCTION|LIST
		FUNCTION|STATS INFO LASTSAVE MEMORY|DOCTOR MEMORY|MALLOC-STATS MEMORY|STATS
		OBJECT|HELP PING PUBSUB|CHANNELS PUBSUB|HELP PUBSUB|NUMPAT PUBSUB|NUMSUB
		PUBSUB|SHARDCHANNELS PUBSUB|SHARDNUMSUB ROLE SCRIPT|EXISTS SLOWLOG|GET
		SLOWLOG|LEN TIME XGROUP|HELP XINFO|HELP`
)

func TestTraitsEqualServer(t *testing.T) {
	t.Parallel()
	ctx, conn := dialServer(t)
	var blocking, readOnly []string
	for _, c := range serverCommands(t, ctx, conn) {
		if c.hasSubcommands {
			continue // each of them is a row of its own
		}
		name, args := split(c.line())
		traits := CommandTraits(name, args)
		if slices.Contains(c.flags, "blocking") != (traits&Blocking != 0) {
			blocking = append(blocking, c.name)
		}
		if slices.Contains(c.flags, "readonly") != (traits&ReadOnly != 0) {
			readOnly = append(readOnly, c.name)
			assert.NotContains(t, c.flags, "write", c.name)
		}
	}
	assert.Subset(t, strings.Fields(otherBlocking), blocking)
	assert.Subset(t, strings.Fields(otherReadOnly), readOnly)
}
