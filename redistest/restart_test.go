package redistest

import (
	"net"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
)

// TestEmulatedNodeGoesDownAndComesBack: a node that was started again is one of the cluster, at its
// old address and with its old keys.
func TestEmulatedNodeGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 2)
	ctx := within(t, 10*time.Second)
	addr := e.Addrs()[0]
	mine, other := KeyInSlot(0, "k"), KeyInSlot(16383, "k")
	require.NoError(t, dial(t, addr).Do(ctx, radix.Cmd(nil, "SET", mine, "v")))
	for range 2 {
		conn := dial(t, addr)
		e.Stop(0)
		e.Stop(0)
		require.Error(t, conn.Do(ctx, radix.Cmd(nil, "PING")))
		_, err := net.Dial("tcp", addr)
		require.Error(t, err, "a node that is down refuses connections")
		require.NoError(t, e.Start(0))
		require.NoError(t, e.Start(0))

		conn = dial(t, addr)
		var value string
		require.NoError(t, conn.Do(ctx, radix.Cmd(&value, "GET", mine)))
		require.Equal(t, "v", value)
		require.ErrorContains(t, conn.Do(ctx, radix.Cmd(nil, "GET", other)), "MOVED 16383 "+e.Addrs()[1])
		require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "MULTI")))
		require.Error(t, conn.Do(ctx, radix.Cmd(nil, "GET", other)))
		require.ErrorContains(t, conn.Do(ctx, radix.Cmd(nil, "EXEC")), "EXECABORT")
	}
	require.Equal(t, e.Addrs(), []string{addr, e.Nodes()[1].Addr()})
}

// TestEmulatedBlocksAfterAStart: BLPOP waits on a node that was started again.
func TestEmulatedBlocksAfterAStart(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 1)
	e.Stop(0)
	require.NoError(t, e.Start(0))
	conn := dial(t, e.Addrs()[0])
	popped := make(chan []string, 1)
	go func() {
		var got []string
		_ = conn.Do(within(t, 10*time.Second), radix.Cmd(&got, "BLPOP", "list", "0"))
		popped <- got
	}()
	require.Eventually(t, func() bool { return e.Calls(0, "BLPOP") == 1 }, 5*time.Second, time.Millisecond)
	_, err := e.Nodes()[0].Push("list", "x")
	require.NoError(t, err)
	require.Equal(t, []string{"list", "x"}, <-popped)
}

// TestEmulatedStartsOnlyAtItsAddress: Start fails if the node's address is taken.
func TestEmulatedStartsOnlyAtItsAddress(t *testing.T) {
	t.Parallel()
	e := StartEmulated(t, 1)
	e.Stop(0)
	thief, err := net.Listen("tcp", e.Addrs()[0])
	require.NoError(t, err)
	require.ErrorContains(t, e.Start(0), "start node 0")
	require.NoError(t, thief.Close())
	require.NoError(t, e.Start(0))
	require.PanicsWithValue(t, "redistest: node = 1: want 0 to 0", func() { e.Stop(1) })
	require.PanicsWithValue(t, "redistest: node = 1: want 0 to 0", func() { _ = e.Start(1) })
}
