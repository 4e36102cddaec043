package cluster_test

import (
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
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

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
