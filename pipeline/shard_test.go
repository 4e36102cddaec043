package pipeline

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestShardsShrink: what a call of many keys needed is given back, also while a
// few keys of each shard are always out. Not parallel: it measures the heap.
func TestShardsShrink(t *testing.T) {
	c := CountersConfig{}.New(nil)
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
		call.land(call.sums)
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

// TestKeysWithOneHash: keys of one hash are found and taken out each by itself, in any
// order.
func TestKeysWithOneHash(t *testing.T) {
	const hash, keys = 7, 3
	for _, order := range [][keys]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		c := CountersConfig{}.New(nil)
		s := c.shard(hash)
		name := func(i int) fullKey { return fullKey{"k", fmt.Sprint(i)} }
		for i := range keys {
			c.addLocked(s, name(i), hash)
		}
		gone := make(map[int]bool)
		for _, i := range order {
			for j := range keys {
				k := s.findLocked(name(j), hash)
				require.Equal(t, gone[j], k == nil)
				require.True(t, k == nil || k.name == name(j))
			}
			c.removeLocked(s.findLocked(name(i), hash))
			gone[i] = true
		}
		require.Zero(t, s.n)
	}
}

// TestShardKeepsItsKeys: a shard finds the keys that were put in and not taken out, while
// its chains become more and fewer.
func TestShardKeepsItsKeys(t *testing.T) {
	const most = 4 * keptChains
	c := CountersConfig{}.New(nil)
	s, random := &c.shards[0], rand.New(rand.NewPCG(1, 2))
	in := make(map[uint64]*key)
	name := func(hash uint64) fullKey { return fullKey{key: fmt.Sprint(hash)} }
	for _, share := range []float64{0.9, 0.5, 0.1, 0} { // of keys that are in, after a while
		for range 5 * most {
			hash := counterShards * random.Uint64N(most)
			k := s.findLocked(name(hash), hash)
			require.Same(t, in[hash], k)
			switch put := random.Float64() < share; {
			case put && k == nil:
				in[hash] = c.addLocked(s, name(hash), hash)
			case !put && k != nil:
				c.removeLocked(k)
				delete(in, hash)
			}
			require.Equal(t, len(in), s.n)
			require.LessOrEqual(t, 2*s.n, len(s.chains))
		}
	}
	for hash, k := range in {
		require.Same(t, k, s.findLocked(name(hash), hash))
		c.removeLocked(k)
	}
	require.Zero(t, s.n)
	require.Equal(t, keptChains, len(s.chains))
}
