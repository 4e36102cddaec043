package redistest

import (
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

func dial(t *testing.T, addr string) radix.Conn {
	conn, err := radix.Dial(within(t, 5*time.Second), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestEmulatedRedirects(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 3)
	ctx := within(t, 10*time.Second)
	const slot = 100
	a, b := dial(t, e.Addrs()[0]), dial(t, e.Addrs()[1])
	key := KeyInSlot(slot, "k")
	do := func(c radix.Conn, args ...string) string {
		var got string
		if err := c.Do(ctx, radix.Cmd(&got, args[0], args[1:]...)); err != nil {
			return err.Error()
		}
		return got
	}
	moved := func(to int) string { return fmt.Sprintf("MOVED %d %s", slot, e.Addrs()[to]) }
	require.Equal(t, 0, e.Owner(slot))
	require.Contains(t, do(b, "SET", key, "1"), moved(0))
	require.Equal(t, "OK", do(a, "SET", key, "1"))
	require.Contains(t, do(a, "DEL", key, KeyInSlot(slot+1, "k")), "CROSSSLOT")

	e.Move(slot, 1)
	require.Contains(t, do(a, "GET", key), moved(1))
	require.Equal(t, "1", do(b, "GET", key))
	e.Move(slot, 2)
	require.Contains(t, do(b, "GET", key), moved(2))
	require.Equal(t, 1, e.Calls(1, "GET"))

	e.Inject(1, func(cmd string, _ []string) string { return "LOADING " + cmd })
	require.Contains(t, do(b, "PING"), "LOADING PING")
	e.Inject(1, func(string, []string) string { return "$4\r\nmine\r\n" })
	require.Equal(t, "mine", do(b, "PING"))
	e.Inject(1, nil)
	require.Equal(t, "PONG", do(b, "PING"))
}

// TestMovedKeysKeepTheirTTL: a key without a time to live has none at its new node either.
func TestMovedKeysKeepTheirTTL(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 2)
	const slot = 100
	forever, passing := KeyInSlot(slot, "forever"), KeyInSlot(slot, "passing")
	from, to := e.Nodes()[0], e.Nodes()[1]
	require.NoError(t, from.Set(forever, "1"))
	require.NoError(t, from.Set(passing, "1"))
	from.SetTTL(passing, time.Minute)
	e.Move(slot, 1)
	ttl := func(key string) (seconds int) {
		require.NoError(t, dial(t, e.Addrs()[1]).Do(within(t, 5*time.Second), radix.Cmd(&seconds, "TTL", key)))
		return seconds
	}
	require.Equal(t, -1, ttl(forever))
	require.Equal(t, 60, ttl(passing))
	e.FastForward(time.Minute)
	require.Equal(t, []string{forever}, to.Keys())
}

func TestEmulatedIsACluster(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 3)
	ctx := within(t, 10*time.Second)
	client, err := cluster.Config{}.New(ctx, e.Addrs()[:1])
	require.NoError(t, err)
	defer client.Close()
	for _, key := range KeysInSlots(9, "k") {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "v")))
	}
	for _, m := range e.Nodes() {
		require.Len(t, m.Keys(), 3)
	}
	var n int
	script := radix.NewEvalScript("return redis.call('INCR', KEYS[1])")
	require.NoError(t, client.Do(ctx, script.Cmd(&n, []string{"counter"})))
	require.Equal(t, 1, n)
	_, err = LaunchEmulated(0)
	require.ErrorContains(t, err, "primaries = 0")
}

// TestEmulatedTransactions: EXEC runs nothing if a command was refused in MULTI. A command counts when
// it is queued, not when it runs.
func TestEmulatedTransactions(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 2)
	const slot = 100
	k := KeyInSlot(slot, "k")
	refuse := func(what string) {
		e.Inject(0, func(cmd string, _ []string) string {
			if cmd == what {
				return "OOM no"
			}
			return ""
		})
	}
	refuse("DEL")
	conn := dial(t, e.Addrs()[0])
	play(t, conn, []step{{"MULTI", "OK"}, {"SET " + k + " 1", "QUEUED"}, {"DEL " + k, "OOM no"}, {"EXEC", "EXECABORT"}, {"EXISTS " + k, "0"}})
	require.Equal(t, 1, e.Calls(0, "SET"))
	refuse("EXEC")
	play(t, conn, []step{{"MULTI", "OK"}, {"SET " + k + " 1", "QUEUED"}, {"EXEC", "OOM no"}})
	refuse("DEL")
	play(t, conn, []step{{"EXEC", "EXEC without MULTI"}, {"DEL " + k, "OOM no"}, {"MULTI", "OK"}, {"SET " + k + " 1", "QUEUED"}, {"EXEC", "[OK]"}})
	play(t, conn, []step{{"MULTI", "OK"}, {"GET " + k, "QUEUED"}})
	e.Move(slot, 1)
	play(t, conn, []step{{"EXEC", "MOVED"}, {"EXEC", "EXEC without MULTI"}})
}

// TestEmulatedNodes: CLUSTER NODES tells the same map as CLUSTER SLOTS, and names the node as
// CLUSTER MYID does.
func TestEmulatedNodes(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 2)
	e.Move(0, 1)
	var text string
	require.NoError(t, dial(t, e.Addrs()[1]).Do(within(t, 5*time.Second), radix.Cmd(&text, "CLUSTER", "NODES")))
	require.Equal(t, fmt.Sprintf("%040x %s@0 master - 0 0 1 connected 1-8191\n%040x %s@0 myself,master - 0 0 2 connected 0 8192-16383\n",
		1, e.Addrs()[0], 2, e.Addrs()[1]), text)
	require.NoError(t, dial(t, e.Addrs()[1]).Do(within(t, 5*time.Second), radix.Cmd(&text, "CLUSTER", "MYID")))
	require.Equal(t, fmt.Sprintf("%040x", 2), text)
}
