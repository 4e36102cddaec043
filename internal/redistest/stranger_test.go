package redistest

import (
	"net"
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
)

// TestRestartAlone puts a server without cluster mode in a node's place, and the
// node back.
func TestRestartAlone(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, Options{Primaries: 1})
	ctx := within(t, startTime)
	n := c.Nodes()[0]
	require.ErrorContains(t, n.RestartAlone(ctx), "which is running: Kill it first")
	require.NoError(t, n.Do(ctx, nil, "SET", "k", "1"))
	require.NoError(t, n.Kill())
	require.NoError(t, n.RestartAlone(ctx))
	var info string
	require.ErrorContains(t, n.Do(ctx, &info, "CLUSTER", "INFO"), "cluster support disabled")
	var keys int
	require.NoError(t, n.Do(ctx, &keys, "DBSIZE"))
	require.Zero(t, keys)
	require.NoError(t, n.Kill())
	require.NoError(t, n.Restart(ctx))
	require.NoError(t, c.WaitHealthy(ctx))
}

func TestHangUp(t *testing.T) {
	t.Parallel()
	h, err := LaunchHangUp("127.0.0.1:0", "someid")
	require.NoError(t, err)
	ctx := within(t, startTime)
	idle, err := net.Dial("tcp", h.Addr())
	require.NoError(t, err)
	defer idle.Close()
	conn, err := radix.Dial(ctx, "tcp", h.Addr())
	require.NoError(t, err)
	defer conn.Close()
	var id, rest string
	require.NoError(t, conn.Do(ctx, radix.Cmd(&id, "CLUSTER", "MYID")))
	require.Equal(t, "someid", id)
	require.Error(t, conn.Do(ctx, radix.Cmd(&rest, "PING")), "it must have hung up")
	require.NoError(t, h.Close())
	require.Equal(t, 2, h.Accepted())
	_, err = idle.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = net.Dial("tcp", h.Addr())
	require.Error(t, err)
}
