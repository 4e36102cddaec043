package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// joined puts hits on flights that never leave.
func joined(c *Counters, hits ...Hit) *hitCall {
	call := c.calls.Get().(*hitCall)
	call.begin(context.Background(), len(hits))
	c.join(call, hits)
	return call
}

// TestShardsShrink: what a call of many keys needed is given back, also while a
// few keys of each shard are always out. Not parallel: it measures the heap.
func TestShardsShrink(t *testing.T) {
	c := NewCounters(nil, CountersConfig{})
	for i := range 10 * counterShards {
		joined(c, Hit{Key: fmt.Sprint("hot", i), By: 1})
	}
	before := heapInUse()
	burst := func() { // of its own, so that nothing of it is left on this stack
		hits := make([]Hit, 50_000)
		for i := range hits {
			hits[i] = Hit{Key: fmt.Sprint("burst", i), By: 1, TTL: time.Minute}
		}
		call := joined(c, hits...)
		for _, f := range call.own {
			c.land(f, false, new(carrier))
		}
		require.False(t, call.handy())
	}
	burst()
	held := heapInUse() - before
	t.Logf("%d KiB are held", held>>10)
	require.Less(t, held, int64(1<<20))
	runtime.KeepAlive(c)
}

func heapInUse() int64 {
	for range 3 { // sync.Pool keeps what it has for two
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLetGather: a carrier waits for hits on its own keys, not for those of
// others.
func TestLetGather(t *testing.T) {
	client, err := cluster.Config{RefreshEvery: -1}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.NoError(t, err)
	defer client.Close()
	c := NewCounters(client, CountersConfig{})
	carriers := make(map[string]*carrier)
	for _, key := range []string{"mine", "other"} {
		call := joined(c, Hit{Key: key, By: 1})
		carriers[key] = new(carrier)
		c.land(call.own[0], true, carriers[key])
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				joined(c, Hit{Key: "other", By: 1})
			}
		}
	}()
	for range 100 {
		require.Equal(t, 1, carriers["mine"].letGather())
	}
	close(stop)
	<-stopped
	joined(c, Hit{Key: "mine", By: 1})
	require.EqualValues(t, 1, carriers["mine"].gathered.Load())
}

// TestKeysWithOneHash: keys of one hash are found and taken out each by itself, in any
// order.
func TestKeysWithOneHash(t *testing.T) {
	const hash, keys = 7, 3
	for _, order := range [][keys]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		c := NewCounters(nil, CountersConfig{})
		s := c.shard(hash)
		key := func(i int) fullKey { return fullKey{"k", fmt.Sprint(i)} }
		for i := range keys {
			c.lineUpLocked(s, key(i), hash)
		}
		gone := make(map[int]bool)
		for _, i := range order {
			for j := range keys {
				l := s.findLocked(key(j), hash)
				require.Equal(t, gone[j], l == nil)
				require.True(t, l == nil || l.key == key(j))
			}
			l := s.findLocked(key(i), hash)
			c.dissolveLocked(l)
			c.putBackLineup(l)
			gone[i] = true
		}
		require.Empty(t, s.out)
	}
}
