package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// TestSlowStandaloneServerStays: of two servers without cluster mode among the
// seeds, the one in use stays, though the other one answers sooner: it has other
// data. Once it does not answer at all, the other one is what there is.
func TestSlowStandaloneServerStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA)
		w.slots = "-ERR This instance has cluster support disabled\r\n"
		var slow atomic.Bool
		dialer := lanes.Dialer{NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == nodeA && slow.Load() {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			return w.dial(ctx, network, addr)
		}}
		client, err := cluster.Config{Dialer: dialer}.New(t.Context(), []string{nodeA, nodeB})
		require.NoError(t, err)
		defer client.Close()
		require.Equal(t, nodeA, client.Primary(0))
		slow.Store(true)
		require.NoError(t, client.Sync(t.Context()))
		require.Equal(t, nodeA, client.Primary(0))
		w.set(func() { w.dead[nodeA] = true })
		require.NoError(t, client.Sync(t.Context()))
		require.Equal(t, nodeB, client.Primary(0))
	})
}

// TestStandaloneServerThatTakesNoMoreConnections stays in use: connections to it work that are open, or
// it says why it has no room.
func TestStandaloneServerThatTakesNoMoreConnections(t *testing.T) {
	for name, text := range map[string]string{"refused": "", "no room": "-ERR max number of clients reached\r\n"} {
		for _, open := range []bool{true, false} {
			if text == "" && !open {
				continue // such a server is away
			}
			t.Run(fmt.Sprintf("%s, open %v", name, open), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(func(string, []string) string { return one }, nodeA)
					w.slots = "-ERR This instance has cluster support disabled\r\n"
					var full atomic.Bool
					dialer := lanes.Dialer{NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
						switch {
						case addr != nodeA || !full.Load():
							return w.dial(ctx, network, addr)
						case text == "":
							return nil, syscall.ECONNREFUSED
						}
						ours, theirs := net.Pipe()
						go func() {
							defer theirs.Close()
							_, _ = io.WriteString(theirs, text)
						}()
						return ours, nil
					}}
					client, err := cluster.Config{Dialer: dialer, RefreshEvery: -1}.New(t.Context(), []string{nodeA, nodeB})
					require.NoError(t, err)
					defer client.Close()
					if open {
						require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
					}
					full.Store(true)
					require.Error(t, client.Sync(t.Context()))
					require.Equal(t, nodeA, client.Primary(0))
				})
			})
		}
	}
}
