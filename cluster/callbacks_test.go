package cluster_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestSlowStrategyOfOneNode: a pipeline has commands for two nodes. While the strategy thinks about
// the second node, the commands for the first one are sent, and so are those of other callers.
func TestSlowStrategyOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = time.Second
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		calls := 0
		client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Lanes: 1, Strategy: func(*lanes.Set, int64) int {
			if calls++; calls == 2 {
				time.Sleep(slow)
			}
			return 0
		}}})
		for i := range 2 {
			require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(i, 2))))
		}
		time.Sleep(time.Minute)
		calls = 0
		done := make(chan error)
		go func() {
			p := pipeline.New(client)
			p.IncrBy(keyOf(0, 2), 1)
			p.IncrBy(keyOf(1, 2), 1) // about which the strategy is asked second
			done <- p.Do(t.Context())
		}()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
		require.Less(t, time.Since(began), slow/2)
		require.NoError(t, <-done)
	})
}

// TestStrategiesSeeTheSlot: the number of a batch is the slot of its first command
// that has a key, also in later attempts.
func TestStrategiesSeeTheSlot(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	seen := make(chan int64, 100)
	first := redistest.KeysInSlots(3, "first") // one for each node
	client := open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Strategy: func(s *lanes.Set, key int64) int {
		if key >= 0 && !slices.ContainsFunc(first, func(k string) bool { return int64(cluster.Slot(k)) == key }) {
			seen <- key
		}
		return lanes.ByKey(s, key)
	}}}, e.Addrs())
	ctx := within(t, 20*time.Second)
	for _, key := range first {
		// While the lanes are being dialled, two goroutines may ask about a batch that waits, and
		// the later one may do so after the reply.
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", key, "1")))
	}
	keys := redistest.KeysInSlots(6, "seen") // two for each node
	for _, key := range keys {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", key, "1")))
		require.Len(t, seen, 1)
		require.EqualValues(t, cluster.Slot(key), <-seen)
	}
	for _, test := range []struct {
		group cluster.Grouping
		want  []string
	}{
		{cluster.ByNode, []string{keys[0], keys[2], keys[4]}},
		{cluster.BySlot, keys},
	} {
		p := pipeline.Config{Group: test.group}.New(client)
		for _, key := range keys {
			p.IncrBy(key, 1)
			p.Expire(key, time.Hour)
		}
		require.NoError(t, p.Do(ctx))
		require.Len(t, seen, len(test.want))
		for _, key := range test.want {
			require.EqualValues(t, cluster.Slot(key), <-seen)
		}
	}
	slot := cluster.Slot(keys[0])
	e.Move(slot, (e.Owner(slot)+1)%3)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", keys[0], "1")))
	require.Len(t, seen, 2)
	require.EqualValues(t, slot, <-seen)
	require.EqualValues(t, slot, <-seen)
}
