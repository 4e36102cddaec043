package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestDial: pub/sub and MONITOR work over a connection with the client's TLS and credentials, to the
// node that is named, or to any primary. It outlives the client.
func TestDial(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Password: "geheim", TLS: true})
	ctx := within(t, 30*time.Second)
	dialer := lanes.Dialer{Password: "geheim", TLS: real.TLSConfig()}
	client, err := cluster.Config{Dialer: dialer}.New(ctx, real.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	for _, addr := range []string{"", real.Addrs()[1]} {
		conn, err := client.Dial(ctx, addr)
		require.NoError(t, err)
		require.Contains(t, real.Addrs(), conn.Addr().String())
		if addr != "" {
			require.Equal(t, addr, conn.Addr().String())
		}
		subscriber := radix.PubSubConfig{}.New(conn)
		require.NoError(t, subscriber.Subscribe(ctx, "news"))
		require.NoError(t, client.Cmd(ctx, "PUBLISH", "news", "text").Err())
		message, err := subscriber.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, "text", string(message.Message))
		require.NoError(t, subscriber.Close())
	}

	monitor, err := client.Dial(ctx, client.Primary(cluster.Slot("k")))
	require.NoError(t, err)
	defer monitor.Close()
	var line resp3.SimpleString
	require.NoError(t, monitor.EncodeDecode(ctx, []string{"MONITOR"}, &line))
	require.NoError(t, client.Cmd(ctx, "SET", "k", "seen").Err())
	require.NoError(t, client.Close())
	for !strings.Contains(line.S, `"SET" "k" "seen"`) {
		require.NoError(t, monitor.EncodeDecode(ctx, nil, &line))
	}
}

// TestDialFails: the error says what cannot be dialled, and that nothing was sent.
func TestDialFails(t *testing.T) {
	t.Parallel()
	w := newWorld(nil, nodeA, nodeB)
	client := w.open(t, cluster.Config{RefreshEvery: -1})
	ctx := soon(t, 10*time.Second)
	w.set(func() { w.dead[nodeA] = true })
	_, err := client.Dial(ctx, nodeA)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.ErrorContains(t, err, nodeA)
	_, err = client.Dial(ctx, "redis://:geheim@"+nodeB)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.NotContains(t, err.Error(), "geheim")
	require.NoError(t, client.Close())
	_, err = client.Dial(ctx, nodeB)
	require.ErrorIs(t, err, redislanes.ErrClosed)
	_, err = new(cluster.Client).Dial(ctx, nodeB)
	require.Error(t, err)
}

// TestDialOfAHostileServer: radix reads the connection on a goroutine of its own, and believes the
// lengths that a server claims. A negative or huge one ended the program there.
func TestDialOfAHostileServer(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]string{
		"negative bulk":    "$-5\r\n",
		"negative array":   "*-7\r\n",
		"huge bulk":        "$99999999999\r\n",
		"huge bulk inside": "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$99999999999\r\n",
		"huge array":       "*999999999\r\n:1\r\n",
		"no RESP":          "HTTP/1.1 400 Bad Request\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(func(_ string, cmd []string) string {
				if cmd[0] == "SUBSCRIBE" {
					return bytes
				}
				return one
			}, nodeA)
			client := w.open(t, cluster.Config{})
			ctx := soon(t, 10*time.Second)
			conn, err := client.Dial(ctx, nodeA)
			require.NoError(t, err)
			defer conn.Close()
			require.Error(t, conn.EncodeDecode(ctx, []string{"SUBSCRIBE", "c"}, new(any))) // radix may say only that it has closed the connection
			require.NoError(t, ctx.Err())
		})
	}
}
