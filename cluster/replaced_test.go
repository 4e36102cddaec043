package cluster_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// TestSilentClusterIsReplaced: the nodes of a cluster that was replaced may swallow
// packets, as deleted pods do. Their dials need not end before the new cluster is used,
// however many they are.
func TestSilentClusterIsReplaced(t *testing.T) {
	for _, size := range []int{2, 20} {
		synctest.Test(t, func(t *testing.T) { silentClusterIsReplaced(t, size) })
	}
}

func silentClusterIsReplaced(t *testing.T, size int) {
	var old []string
	for i := range size {
		old = append(old, fmt.Sprintf("127.0.0.2:%d", 7001+i))
	}
	w := newWorld(func(string, []string) string { return one }, old...)
	const name = "redis.example:6379"
	led := old[0]
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == name {
			addr = led
		}
		return w.dial(ctx, network, addr)
	}
	client, err := cluster.Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: dial}}.New(t.Context(), []string{name, "dead.example:6379"})
	require.NoError(t, err)
	defer client.Close()
	key := keyOf(0, size)
	require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", key)))
	w.set(func() {
		for _, addr := range old {
			w.silent[addr] = true
		}
		w.slots = strings.ReplaceAll(mapOf(nodeC), strings.Repeat("0", 40), strings.Repeat("9", 40))
		led = nodeC
	})
	began := time.Now()
	for client.Do(soon(t, 200*time.Millisecond), radix.Cmd(nil, "INCR", key)) != nil {
		require.Less(t, time.Since(began), 5*time.Second, "one timeout of a dial")
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(t, nodeC, client.Primary(0))
	require.Greater(t, time.Since(began), 3*time.Second, "nodes that are slow to answer are no reason to leave the cluster")
}
