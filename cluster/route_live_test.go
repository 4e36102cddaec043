package cluster_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// keyElsewhere are commands whose keys radix does not know, with %s for a key.
var keyElsewhere = [][]string{
	{"SINTERCARD", "1", "%s:set"},
	{"ZDIFF", "1", "%s:zset"},
	{"ZUNION", "2", "%s:zset", "%s:zset2"},
	{"ZINTER", "1", "%s:zset"},
	{"ZINTERCARD", "1", "%s:zset"},
	{"LMPOP", "1", "%s:list", "LEFT"},
	{"ZMPOP", "1", "%s:zset", "MIN"},
	{"FCALL", "f", "1", "%s"},
	{"FCALL_RO", "f", "1", "%s"},
	{"EVAL_RO", "return redis.call('GET', KEYS[1])", "1", "%s"},
	{"EVAL", "return redis.call('GET', KEYS[1])", "1", "%s"},
	{"XREADGROUP", "GROUP", "STREAMS", "c", "STREAMS", "%s:stream", ">"},
	{"SORT", "%s:list", "STORE", "%s:to"},
	{"OBJECT", "ENCODING", "%s:string"},
}

// TestKeysAreReadFromTheCommand: what the first try of each command reaches is
// the owner of its keys, however it is sent.
func TestKeysAreReadFromTheCommand(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := within(t, 30*time.Second)
	client := open(t, cluster.Config{}, real.Addrs())
	clients, err := client.Clients()
	require.NoError(t, err)
	library := "#!lua name=l\nredis.register_function{function_name='f', callback=function(keys) return 1 end, flags={'no-writes'}}"
	for _, node := range clients {
		if real.Major() >= 7 {
			require.NoError(t, node.Primary.Do(ctx, radix.Cmd(nil, "FUNCTION", "LOAD", library)))
		}
	}
	known := slices.DeleteFunc(slices.Clone(keyElsewhere), func(command []string) bool {
		knows, err := real.Nodes()[0].Knows(ctx, command[0])
		require.NoError(t, err)
		require.True(t, knows || real.Major() < 7, command[0])
		return !knows
	})
	for i := range 10 {
		tag := fmt.Sprintf("{k%d}", i)
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", tag+":string", "v")))
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "XGROUP", "CREATE", tag+":stream", "STREAMS", "0", "MKSTREAM")))
		p := pipeline.New(client)
		for _, command := range known {
			name, args := command[0], filled(command[1:], tag)
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, name, args...)), "%s of %s", name, tag)
			p.Cmd(name, args...)
			if name != "XREADGROUP" { // which radix takes for one that always blocks
				p.Append(radix.Cmd(nil, name, args...))
			}
		}
		require.NoError(t, p.Do(ctx))
	}
	require.Zero(t, client.Stats().Moved)
}

func filled(args []string, tag string) (list []string) {
	for _, arg := range args {
		if len(arg) > 2 && arg[0] == '%' || arg == "%s" {
			arg = fmt.Sprintf(arg, tag)
		}
		list = append(list, arg)
	}
	return list
}

// TestCrossSlotIsRefusedUnsent: no node sees anything of a command with keys in
// two slots.
func TestCrossSlotIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 10*time.Second)
	var seen atomic.Int32
	for node := range e.Nodes() {
		e.Inject(node, func(cmd string, _ []string) string {
			if cmd != "COMMAND" {
				seen.Add(1)
			}
			return ""
		})
	}
	for _, line := range [][]string{
		{"MGET", "a", "b"}, {"DEL", "a", "b"}, {"mset", "a", "1", "b", "2"}, {"EVAL", "return 1", "2", "a", "b"},
		{"BLPOP", "a", "b", "0"}, {"SORT", "a", "STORE", "b"}, {"ZUNIONSTORE", "a", "1", "b"},
	} {
		name, args := line[0], line[1:]
		require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, name, args...)), redislanes.ErrCrossSlot, line)
		require.ErrorIs(t, client.DoSecondary(ctx, radix.Cmd(nil, name, args...)), redislanes.ErrCrossSlot, line)
		if name == "BLPOP" {
			continue
		}
		require.ErrorIs(t, pipeline.New(client).Append(radix.Cmd(nil, name, args...)).Err(), redislanes.ErrCrossSlot, line)
		require.ErrorIs(t, pipeline.New(client).Cmd(name, args...).Err(), redislanes.ErrCrossSlot, line)
	}
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "GET", "a"))
	p.Append(radix.Cmd(nil, "GET", "b"))
	require.ErrorIs(t, client.Do(ctx, p), redislanes.ErrCrossSlot)
	require.Zero(t, seen.Load())
}

// TestCommandsWithoutAKeyHaveOneNode: what one of them leaves on its node, the
// next one finds, through Do and in pipelines with keys of all nodes.
func TestCommandsWithoutAKeyHaveOneNode(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	ctx := within(t, 30*time.Second)
	client := open(t, cluster.Config{}, real.Addrs())
	evalSHA, ways := "EVALSHA_RO", []func(context.Context, radix.Action) error{client.Do, client.DoSecondary}
	if real.Major() < 7 { // EVALSHA may write, and goes to a primary
		evalSHA, ways = "EVALSHA", ways[:1]
	}
	for _, do := range ways {
		var sha string
		require.NoError(t, do(ctx, radix.Cmd(&sha, "SCRIPT", "LOAD", "return 7")))
		for range 100 {
			var n int
			require.NoError(t, do(ctx, radix.Cmd(&n, evalSHA, sha, "0")))
			require.Equal(t, 7, n)
		}
	}
	var sha string
	require.NoError(t, client.Do(ctx, radix.Cmd(&sha, "SCRIPT", "LOAD", "return 8")))
	for i := range 100 {
		p := pipeline.New(client)
		p.IncrBy(fmt.Sprint("beside", i), 1)
		run := p.Cmd("EVALSHA", sha, "0")
		p.Cmd("CONFIG", "SET", "lua-time-limit", strconv.Itoa(1000+i))
		require.NoError(t, p.Do(ctx))
		n, err := run.Int()
		require.NoError(t, err)
		require.EqualValues(t, 8, n)
		var limit []string
		require.NoError(t, client.Do(ctx, radix.Cmd(&limit, "CONFIG", "GET", "lua-time-limit")))
		require.Equal(t, strconv.Itoa(1000+i), limit[1])
	}
	require.Equal(t, keysOfOneNode(t, ctx, client), scanned(t, ctx, client))
}

// keysOfOneNode returns DBSIZE.
func keysOfOneNode(t *testing.T, ctx context.Context, client *cluster.Client) (n int) {
	require.NoError(t, client.Do(ctx, radix.Cmd(&n, "DBSIZE")))
	return n
}

// scanned returns how many keys a hand-written loop of SCAN finds.
func scanned(t *testing.T, ctx context.Context, client *cluster.Client) int {
	keys := map[string]bool{}
	cursor := "0"
	for {
		var found []string
		require.NoError(t, client.Do(ctx, radix.Cmd(&radix.Tuple{&cursor, &found}, "SCAN", cursor, "COUNT", "5")))
		for _, key := range found {
			keys[key] = true
		}
		if cursor == "0" {
			return len(keys)
		}
	}
}

// TestWhatChangesAConnectionIsRefused: on every path over connections that others
// share. Afterwards each caller has its own reply.
func TestWhatChangesAConnectionIsRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(w io.Writer, cmd []string) bool {
		_, err := io.WriteString(w, "-ERR "+cmd[0]+" reached the server\r\n")
		return err == nil
	}
	f.start()
	client := open(t, onlyShared, []string{f.addr()})
	ctx := within(t, 10*time.Second)
	clients, err := client.Clients()
	require.NoError(t, err)
	for _, group := range []struct {
		want, pipelined error
		lines           [][]string
	}{
		{redislanes.ErrShared, cause.ErrNotPipelinable, [][]string{
			{"CLIENT", "NO-EVICT", "on"}, {"CLIENT", "SETNAME", "x"}, {"ASKING"}, {"SCRIPT", "DEBUG", "YES"}, {"CLIENT", "NEW-IN-REDIS-9"}, {"MULTI"}, {"QUIT"},
		}},
		{cause.ErrUnanswered, cause.ErrUnanswered, [][]string{ // radix.WithConn would not help
			{"CLIENT", "REPLY", "SKIP"}, {"REPLCONF", "ACK", "0"}, {"REPLCONF", "GETACK", "*"}, {"SYNC"}, {"PSYNC", "?", "-1"},
		}},
	} {
		for _, line := range group.lines {
			name, args := line[0], line[1:]
			require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, name, args...)), group.want, line)
			require.ErrorIs(t, client.DoSecondary(ctx, radix.Cmd(nil, name, args...)), group.want, line)
			require.ErrorIs(t, clients[f.addr()].Primary.Do(ctx, radix.Cmd(nil, name, args...)), group.want, line)
			require.ErrorIs(t, pipeline.New(client).Append(radix.Cmd(nil, name, args...)).Err(), group.pipelined, line)
			require.ErrorIs(t, pipeline.New(client).Cmd(name, args...).Err(), group.pipelined, line)
			p := radix.NewPipeline()
			p.Append(radix.Cmd(nil, "GET", "a"))
			p.Append(radix.Cmd(nil, name, args...))
			require.ErrorIs(t, client.Do(ctx, p), group.want, line)
		}
	}
}
