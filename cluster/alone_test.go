package cluster_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
