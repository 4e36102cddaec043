package places

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestCloseBesideASilentServer: Close reports holds as lost before it frees their places. A silent
// server keeps Close waiting. Meanwhile another semaphore gets the places on the other servers.
func TestCloseBesideASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		of := mustMake(t, w.client, Config{Name: "job", Max: 1, TTL: time.Second, Budget: 5 * time.Second})
		rival := mustMake(t, w.client, Config{Name: "job", Max: 1, TTL: time.Second})
		hold, d := of.Acquire(t.Context(), "k")
		require.True(t, d.Allowed)
		silent, here := w.model.Owner(cluster.Slot(of.head+"k")), w.model.Owner(cluster.Slot(of.head+"k"))
		other := ""
		for i := 0; silent == here; i++ {
			other = strconv.Itoa(i)
			silent = w.model.Owner(cluster.Slot(of.head + other))
		}
		beside, d := of.Acquire(t.Context(), other)
		require.True(t, d.Allowed)
		lift := w.net.Impose("", silent.Addr(), simnet.Conditions{Partition: simnet.Both})
		defer lift()
		var closing sync.WaitGroup
		defer closing.Wait()
		closing.Go(func() { assert.NoError(t, of.Close()) })
		time.Sleep(20 * time.Millisecond)
		next, d := rival.Acquire(t.Context(), "k")
		require.NoError(t, d.Err)
		require.True(t, d.Allowed)
		require.True(t, isLost(hold))
		require.True(t, isLost(beside))
		next.Release()
	})
}

// TestCloseTwice: a second Close beside the first one also returns when the places are free.
func TestCloseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		of := mustMake(t, w.client, Config{Name: "job", Max: 1, Budget: time.Second})
		rival := mustMake(t, w.client, Config{Name: "job", Max: 1, Budget: time.Second}) // what was sent before lift still takes its time
		hold, d := of.Acquire(t.Context(), "k")
		require.True(t, d.Allowed)
		lift := w.net.Impose("", "", simnet.Conditions{Latency: 100 * time.Millisecond})
		var closing sync.WaitGroup
		defer closing.Wait()
		closing.Go(func() { assert.NoError(t, of.Close()) })
		synctest.Wait()
		require.NoError(t, of.Close())
		require.True(t, isLost(hold))
		lift()
		next, d := rival.Acquire(t.Context(), "k")
		require.NoError(t, d.Err)
		require.True(t, d.Allowed)
		next.Release()
	})
}
