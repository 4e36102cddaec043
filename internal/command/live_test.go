package command_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
)

// dialServer starts a redis-server and connects to it.
func dialServer(t *testing.T) (context.Context, radix.Conn) {
	t.Helper()
	return dialBinary(t, "")
}

func dialBinary(t *testing.T, binary string) (context.Context, radix.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	conn, err := radix.Dial(ctx, "tcp", servers.StartServer(t, servers.Options{Binary: binary}).Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return ctx, conn
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
			var subs []any
			if len(f) > 9 { // since Redis 7
				subs = f[9].([]any)
			}
			c.hasSubcommands = len(subs) > 0
			commands = append(commands, c)
			add(subs)
		}
	}
	add(reply)
	require.Greater(t, len(commands), 200)
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

// keyDifferences lists lines, or names, where Keys is meant to differ from
// COMMAND GETKEYS.
var keyDifferences = map[string]string{
	"SPUBLISH":                "a channel is no key, but has a slot, by which the server redirects",
	"SSUBSCRIBE":              "the same",
	"SUNSUBSCRIBE":            "the same",
	"STRALGO":                 "left to MOVED",
	"CLUSTERSCAN":             "a cursor is no key, but has a slot, by which the server redirects",
	"DEBUG OBJECT a":          "has no key specification, but fails on a node without the key",
	"XREAD BLOCK STREAMS a 0": "malformed",
	"GEORADIUS a 1 2 3 m STORE c STOREDIST d": "malformed: the last one counts, the server lists both",
}

func TestKeysEqualServer(t *testing.T) {
	t.Parallel()
	ctx, conn := dialServer(t)
	lines := map[string]bool{}
	for line := range command.KeysOfLines {
		lines[line] = true
	}
	known := map[string]serverCommand{}
	for _, c := range serverCommands(t, ctx, conn) {
		known[c.name] = c
		if !c.hasSubcommands && !slices.Contains(c.flags, "movablekeys") {
			lines[c.line()] = true
			continue
		}
		assert.True(t, c.hasSubcommands || slices.ContainsFunc(slices.Collect(maps.Keys(command.KeysOfLines)), func(line string) bool {
			return strings.EqualFold(strings.Fields(line)[0], c.name)
		}), "KeysOfLines has no line for %s", c.name)
	}
	checked := 0
	for line := range lines {
		encoded := command.Encode(line)
		name := resp.CommandName(encoded)
		_, isKnown := known[strings.ToUpper(name)]
		if !isKnown || keyDifferences[line] != "" || keyDifferences[name] != "" {
			continue
		}
		want := []string{}
		err := conn.Do(ctx, radix.Cmd(&want, "COMMAND", append([]string{"GETKEYS"}, elements(encoded)...)...))
		if err != nil && !strings.Contains(err.Error(), "The command has no key arguments") {
			continue // refused as malformed
		}
		assert.ElementsMatch(t, want, command.KeysOf(encoded), line)
		checked++
	}
	assert.Greater(t, checked, 250)
}

// Where Traits are meant to differ from the flags of the server.
const (
	// WAIT blocks its connection, but has no flag before Redis 7.2; the two
	// others block with the option BLOCK only. Redis 6 has no such flag at all.
	otherBlocking = "SHUTDOWN WAIT XREAD XREADGROUP"
	// The flag is about reading keys. These tell something about the server
	// or the connection and change nothing, so that they may be repeated.
	otherReadOnly = `
		ACL|CAT ACL|DRYRUN ACL|GENPASS ACL|GETUSER ACL|HELP ACL|LIST ACL|USERS ACL|WHOAMI
		BACKUP|HELP BACKUP|LIST BACKUP|STATUS HOTKEYS|GET HOTKEYS|HELP
		CLIENT|GETREDIR CLIENT|HELP CLIENT|TRACKINGINFO CLUSTER|COUNT-FAILURE-REPORTS
		CLUSTER|GETSLOTMIGRATIONS CLUSTER|HELP CLUSTER|MYSHARDID CLUSTER|SLOT-STATS
		COMMANDLOG|GET COMMANDLOG|HELP COMMANDLOG|LEN CONFIG|HELP FUNCTION|HELP LATENCY|DOCTOR LATENCY|GRAPH LATENCY|HELP
		LATENCY|HISTOGRAM LATENCY|HISTORY LATENCY|LATEST MEMORY|HELP MODULE|HELP MODULE|LIST
		SCRIPT|HELP SCRIPT|SHOW SLOWLOG|HELP
		CLIENT|GETNAME CLIENT|ID CLIENT|INFO CLIENT|LIST CLUSTER|COUNTKEYSINSLOT
		CLUSTER|GETKEYSINSLOT CLUSTER|INFO CLUSTER|KEYSLOT CLUSTER|LINKS CLUSTER|MYID
		CLUSTER|NODES CLUSTER|REPLICAS CLUSTER|SHARDS CLUSTER|SLAVES CLUSTER|SLOTS
		COMMAND|COUNT COMMAND|DOCS COMMAND|GETKEYS COMMAND|GETKEYSANDFLAGS COMMAND|HELP
		COMMAND|INFO COMMAND|LIST CONFIG|GET ECHO FUNCTION|DUMP FUNCTION|LIST
		FUNCTION|STATS INFO LASTSAVE MEMORY|DOCTOR MEMORY|MALLOC-STATS MEMORY|STATS
		OBJECT|HELP PING PUBSUB|CHANNELS PUBSUB|HELP PUBSUB|NUMPAT PUBSUB|NUMSUB
		PUBSUB|SHARDCHANNELS PUBSUB|SHARDNUMSUB ROLE SCRIPT|EXISTS SLOWLOG|GET
		SLOWLOG|LEN TIME XGROUP|HELP XINFO|HELP`
	// What is an HTTP request by mistake only reads, say servers before Redis 7.
	aliens = "POST HOST:"
)

func TestTraitsEqualServer(t *testing.T) {
	t.Parallel()
	for _, binary := range servers.Servers(t) {
		t.Run(filepath.Base(filepath.Dir(binary))+"/"+filepath.Base(binary), func(t *testing.T) {
			t.Parallel()
			ctx, conn := dialBinary(t, binary)
			commands := serverCommands(t, ctx, conn)
			hasFlag := slices.ContainsFunc(commands, func(c serverCommand) bool { return slices.Contains(c.flags, "blocking") })
			hasMayReplicate := slices.ContainsFunc(commands, func(c serverCommand) bool { return slices.Contains(c.flags, "may_replicate") })
			for _, c := range commands {
				if c.hasSubcommands || slices.Contains([]string{"COMMAND", "MEMORY", "PUBSUB", "SCRIPT"}, c.name) {
					continue // each of them is a row of its own; Redis 6 does not tell of them
				}
				traits := command.Of(command.Encode(c.line())).Traits()
				if hasFlag && slices.Contains(c.flags, "blocking") != (traits&command.Blocking != 0) {
					assert.True(t, isListed(otherBlocking, c.name), c.name)
				}
				if slices.Contains(c.flags, "readonly") != (traits&command.ReadOnly != 0) {
					assert.True(t, isListed(otherReadOnly+" "+aliens, c.name), c.name)
					assert.NotContains(t, c.flags, "write", c.name)
				}
				if hasMayReplicate {
					may := slices.Contains(c.flags, "may_replicate") && !slices.Contains(c.flags, "readonly")
					assert.Equal(t, may, traits&command.MayWrite != 0, c.name)
				}
			}
		})
	}
}

func isListed(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

// elements returns the name and the arguments of a command.
func elements(encoded []byte) (list []string) {
	for args := resp.ArgsOf(encoded); ; {
		arg, ok := args.Next()
		if !ok {
			return list
		}
		list = append(list, string(arg))
	}
}

// TestTableHoldsEveryCommand: no server at hand knows a command, or a subcommand,
// that the table does not.
func TestTableHoldsEveryCommand(t *testing.T) {
	t.Parallel()
	for _, binary := range servers.Servers(t) {
		t.Run(filepath.Base(filepath.Dir(binary))+"/"+filepath.Base(binary), func(t *testing.T) {
			t.Parallel()
			ctx, conn := dialBinary(t, binary)
			for _, c := range serverCommands(t, ctx, conn) {
				cmd := command.Of(command.Encode(strings.Replace(c.name, "|", " ", 1)))
				assert.True(t, cmd.Known(), c.name)
				_, sub, isSub := strings.Cut(c.name, "|")
				assert.Equal(t, isSub, command.IsSubcommand(cmd, sub), "%s is not listed as such", c.name)
				traits := command.Of(command.Encode(c.line())).Traits()
				if slices.Contains(c.flags, "write") {
					assert.Zero(t, traits&command.ReadOnly, "%s writes", c.name)
				}
				if slices.Contains(c.flags, "blocking") && c.name != "XREAD" && c.name != "XREADGROUP" {
					assert.NotZero(t, traits&command.Blocking, "%s may block", c.name)
				}
				// The flag noscript is about what may be called by a script, whose
				// calls no client sees, so the table has no trait for it. But it is
				// what tells commands of pub/sub with many replies from the others.
				if slices.Contains(c.flags, "pubsub") && !c.hasSubcommands {
					assert.Equal(t, slices.Contains(c.flags, "noscript"), cmd.Effect() == command.Unanswered, c.name)
				}
				if slices.Contains(c.flags, "readonly") && !c.hasSubcommands && len(c.flags) > 0 && c.name != "MEMORY" { // of whose subcommands Redis 6 does not tell
					assert.NotZero(t, traits&(command.ReadOnly|command.Stateful), "%s only reads", c.name)
				}
			}
		})
	}
}
