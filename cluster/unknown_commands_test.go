package cluster_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// unknownNames give commands names that the table does not hold, as modules do.
var unknownNames = []string{
	"rename-command EVAL X.EVAL", "rename-command BLPOP X.BLPOP", "rename-command DBSIZE X.DBSIZE", "rename-command OBJECT X.OBJECT",
}

// TestUnknownCommandsAreAskedFor: the first try of a command that only the server
// knows reaches the owner of its keys, one that blocks gets a dedicated connection, and
// each is asked for once.
func TestUnknownCommandsAreAskedFor(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Directives: unknownNames})
	ctx := within(t, 30*time.Second)
	client := open(t, onlyShared, real.Addrs())
	if real.Major() < 7 {
		learnPositions(t, ctx, client, real)
		return
	}
	for i := range 20 {
		key := fmt.Sprint("unknown", i)
		var got string
		require.NoError(t, client.Do(ctx, radix.Cmd(&got, "x.eval", "return KEYS[1]", "1", key)))
		require.Equal(t, key, got)
		p := pipeline.New(client)
		by := p.Cmd("X.EVAL", "return KEYS[1]", "1", key)
		p.Append(radix.Cmd(&got, "X.EVAL", "return KEYS[1]..'!'", "1", key))
		p.Cmd("X.DBSIZE")
		require.NoError(t, p.Do(ctx))
		text, err := by.Text()
		require.NoError(t, err)
		require.Equal(t, []string{key, key + "!"}, []string{text, got})
	}
	require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "X.EVAL", "return 1", "2", "a", "b")), redislanes.ErrCrossSlot)
	blocking := pipeline.New(client)
	count := blocking.IncrBy("k", 1)
	blocking.Cmd("X.BLPOP", "{b}list", "0")
	require.ErrorIs(t, blocking.Do(ctx), cause.ErrNotPipelinable)
	require.ErrorIs(t, count.Err(), redislanes.ErrNotSent)

	done := make(chan error, 1)
	go func() { done <- client.Do(ctx, radix.Cmd(nil, "X.BLPOP", "{b}list", "0")) }()
	for blocked(t, client) == 0 {
		require.Empty(t, done)
	}
	requireFreeLanes(t, client)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "RPUSH", "{b}list", "v")))
	require.NoError(t, <-done)

	require.Zero(t, client.Stats().Moved)
	asked := 0
	for _, n := range real.Nodes() {
		asked += stat(t, ctx, n, "command|info")
	}
	require.GreaterOrEqual(t, asked, 3, "each of three names once")
	require.LessOrEqual(t, asked, 3*3, "another node is asked, too, while one takes long to answer")
}

// learnPositions: servers before Redis 7 tell where the keys of a command are only if
// they always are at the same place, and not what blocks.
func learnPositions(t *testing.T, ctx context.Context, client *cluster.Client, real *servers.Cluster) {
	t.Helper()
	for i := range 20 {
		key := fmt.Sprint("unknown", i)
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
		var got string
		require.NoError(t, client.Do(ctx, radix.Cmd(&got, "x.object", "ENCODING", key)))
		require.Equal(t, "int", got)
		p := pipeline.New(client)
		by := p.Cmd("X.OBJECT", "ENCODING", key)
		p.Cmd("X.DBSIZE")
		require.NoError(t, p.Do(ctx))
		text, err := by.Text()
		require.NoError(t, err)
		require.Equal(t, "int", text)
	}
	require.Zero(t, client.Stats().Moved)
	asked := 0
	for _, n := range real.Nodes() {
		asked += stat(t, ctx, n, "command")
	}
	require.Equal(t, 2, asked)
}

// TestNobodyTellsOfACommand: without the right to ask, the first argument is the
// key, and a redirect of another slot is not followed.
func TestNobodyTellsOfACommand(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Username: "limited", Password: "canary",
		Directives: append([]string{"rename-command GET X.GET"}, unknownNames...)})
	ctx := within(t, 30*time.Second)
	for _, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "ACL", "SETUSER", "limited", "-command"))
	}
	client := open(t, cluster.Config{Dialer: lanes.Dialer{Username: "limited", Password: "canary"}}, real.Addrs())
	for i := range 20 {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "X.GET", fmt.Sprint("k", i))))
	}
	require.Zero(t, client.Stats().Moved)
	refused := 0
	for i := range 20 {
		if err := client.Do(ctx, radix.Cmd(nil, "X.EVAL", "return 1", "1", fmt.Sprint("k", i))); err != nil {
			require.ErrorIs(t, err, redislanes.ErrRefused)
			refused++
		}
	}
	require.Positive(t, refused)
}

// TestAskingForACommandEndsWithTheContext: a call that waits for the answer ends at its
// deadline, and nothing was sent.
func TestAskingForACommandEndsWithTheContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(io.Writer, []string) bool { return true }
	f.start()
	client := open(t, cluster.Config{}, []string{f.addr()})
	err := client.Do(within(t, 50*time.Millisecond), radix.Cmd(nil, "NO.SUCH", "canary"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.NotContains(t, err.Error(), "canary")
}

// TestUnknownCommandWhileNodesAreSilent: a command that servers have to be asked
// for does not wait long for those that are silent.
func TestUnknownCommandWhileNodesAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "COMMAND" {
				return "*1\r\n*-1\r\n"
			}
			return one
		}, nodeA, nodeB, nodeC)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		for i := range 3 {
			require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(i, 3))))
		}
		took := func(name string, i int) time.Duration {
			began := time.Now()
			_ = client.Do(soon(t, 5*time.Second), radix.Cmd(nil, name, keyOf(i, 3)))
			return time.Since(began)
		}
		w.set(func() { w.silent[nodeA], w.silent[nodeB] = true, true })
		require.Less(t, took("MODULE.A", 2), 250*time.Millisecond, "the third node is asked soon")
		time.Sleep(time.Second)
		go func() { _ = client.Do(soon(t, 2*time.Second), radix.Cmd(nil, "INCR", keyOf(0, 3))) }()
		w.set(func() { w.silent[nodeC] = true })
		require.Less(t, took("MODULE.B", 2), 2500*time.Millisecond, "nobody answers")
		require.Less(t, took("MODULE.B", 2), 1100*time.Millisecond)
	})
}

// TestUnknownCommandWhileNodesAreDead: a command that servers have to be asked for waits for one window,
// and not for that of its node as well.
func TestUnknownCommandWhileNodesAreDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		do := func(name string) time.Duration {
			began := time.Now()
			require.Error(t, client.Do(soon(t, 5*time.Second), radix.Cmd(nil, name, keyOf(0, 2))))
			return time.Since(began)
		}
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(1, 2))))
		w.set(func() { w.dead[nodeA], w.dead[nodeB] = true, true })
		do("INCR")
		for _, name := range []string{"MODULE.A", "MODULE.B", "MODULE.A"} {
			time.Sleep(time.Second)
			require.InDelta(t, 1, do(name).Seconds(), 0.1, name)
		}
	})
}

// TestUnknownCommandOutlastsAFailover: within the window, servers are asked again:
// by a guess the command would have gone to the wrong node.
func TestUnknownCommandOutlastsAFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := make(chan string, 100)
		w := newWorld(func(addr string, cmd []string) string {
			if cmd[0] == "MODULE.C" {
				at <- addr
			}
			if cmd[0] == "COMMAND" {
				return "*1\r\n*6\r\n$8\r\n" + strings.ToLower(cmd[2]) + "\r\n:-3\r\n*1\r\n+write\r\n:2\r\n:2\r\n:1\r\n"
			}
			return one
		}, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		w.set(func() { w.dead[nodeA], w.dead[nodeB] = true, true })
		time.AfterFunc(400*time.Millisecond, func() { w.set(func() { clear(w.dead) }) })
		require.NoError(t, client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "MODULE.C", keyOf(0, 2), keyOf(1, 2))))
		require.Equal(t, nodeB, <-at, "whose the key is")
	})
}

// TestUnknownCommandWaitsForBusyConnections: a server whose only connection is dedicated to a
// command that blocks has no outage. By a guess the command went to the wrong node, which the
// simulated world noticed during a failover of 4 s.
func TestUnknownCommandWaitsForBusyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(addr string, cmd []string) string {
			switch cmd[0] {
			case "BLPOP":
				time.Sleep(3 * time.Second)
			case "COMMAND":
				return "*1\r\n*6\r\n$8\r\n" + strings.ToLower(cmd[2]) + "\r\n:-3\r\n*1\r\n+write\r\n:2\r\n:2\r\n:1\r\n"
			case "MODULE.C":
				if addr != nodeB {
					return "-MOVED 16383 " + nodeB + "\r\n"
				}
			}
			return one
		}, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Fixed{Size: 1}})
		var busy sync.WaitGroup
		for i := range 2 {
			busy.Go(func() { assert.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "BLPOP", keyOf(i, 2), "0"))) })
		}
		synctest.Wait()
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "MODULE.C", keyOf(0, 2), keyOf(1, 2))))
		busy.Wait()
	})
}

// TestFastCommandOfAModule: what a program says of one command counts also for a command that
// servers are asked for.
func TestFastCommandOfAModule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "COMMAND" {
				return "*1\r\n*-1\r\n"
			}
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{SlowLanes: 1}, Slow: []string{"FOO.BAR"}})
		for _, marked := range []bool{true, false} {
			p := pipeline.New(client)
			p.Cmd("GET", "a")
			if r := p.Cmd("FOO.BAR", "b"); marked {
				r.Fast()
			}
			require.NoError(t, p.Do(soon(t, time.Second)))
			require.Equal(t, map[bool]int{true: 1, false: 2}[marked], p.Trips(), "fast and slow commands travel apart")
		}
	})
}

// TestToldReadsAreNotRepeated: a module's command that the server calls readonly may do more than
// read (RG.TRIGGER of RedisGears, FT.CURSOR READ of RediSearch). Without its reply, the outcome is
// unknown, and it is not sent again. A replica may run it.
func TestToldReadsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		ran := make(chan string, 10)
		w = newWorld(func(addr string, cmd []string) string {
			switch cmd[0] {
			case "COMMAND":
				return "*1\r\n*6\r\n$9\r\nMODULE.GO\r\n:-2\r\n*1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n"
			case "MODULE.GO", "GET":
				if ran <- cmd[0]; len(ran) == 1 { // its connection breaks before the reply
					w.set(func() { w.dead[addr] = true })
					w.set(func() { delete(w.dead, addr) })
				}
			}
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		for name, sent := range map[string]int{"MODULE.GO": 1, "GET": 2} {
			err := client.Do(soon(t, 5*time.Second), radix.Cmd(nil, name, "key"))
			if sent == 1 {
				assert.ErrorIs(t, err, redislanes.ErrUnknownOutcome, name)
			} else {
				assert.NoError(t, err, name)
			}
			assert.Len(t, ran, sent, name)
			for len(ran) > 0 {
				<-ran
			}
		}
	})
}
