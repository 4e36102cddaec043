package redistest

import (
	"net"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
)

func TestHangUp(t *testing.T) {
	t.Parallel()
	h, err := LaunchHangUp("127.0.0.1:0", "someid")
	require.NoError(t, err)
	ctx := within(t, 10*time.Second)
	idle, err := net.Dial("tcp", h.Addr())
	require.NoError(t, err)
	defer idle.Close()
	conn, err := radix.Dial(ctx, "tcp", h.Addr())
	require.NoError(t, err)
	defer conn.Close()
	var id, rest string
	require.NoError(t, conn.Do(ctx, radix.Cmd(&id, "cluster", "myid")))
	require.Equal(t, "someid", id)
	require.Error(t, conn.Do(ctx, radix.Cmd(&rest, "PING")), "it must have hung up")
	require.NoError(t, h.Close())
	require.Equal(t, 2, h.Accepted())
	_, err = idle.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = net.Dial("tcp", h.Addr())
	require.Error(t, err)
}
