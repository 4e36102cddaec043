package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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
			c.lineUpLocked(s, key(i), hash, 0)
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

// TestPlaces: lineups of one key take the first place that is free, in whatever order
// they end, and the first is found while it is there.
func TestPlaces(t *testing.T) {
	const hash = 7
	c := NewCounters(nil, CountersConfig{})
	s, key, random := c.shard(hash), fullKey{key: "k"}, rand.New(rand.NewPCG(1, 2))
	other := c.lineUpLocked(s, fullKey{key: "other"}, hash, 0)
	var out [mostBeside]*lineup
	free := func() uint8 { return uint8(slices.Index(out[:], nil)) }
	for range 10_000 {
		first := s.findLocked(key, hash)
		require.Same(t, out[0], first)
		require.Same(t, other, s.findLocked(other.key, hash))
		place, ok := uint8(0), true
		if first != nil {
			place, ok = s.besideLocked(first)
		}
		require.Equal(t, slices.Contains(out[:], nil), ok)
		if at := random.IntN(mostBeside + 1); ok && at < mostBeside {
			require.Equal(t, free(), place)
			out[place] = c.lineUpLocked(s, key, hash, place)
			out[place].out = out[place].first.begin(out[place])
		} else if at %= mostBeside; out[at] != nil {
			c.dissolveLocked(out[at])
			c.putBackLineup(out[at])
			out[at] = nil
		}
	}
}

// TestNoneBesideThoseThatGather: once a flight has several hits, or some wait, others
// wait, too.
func TestNoneBesideThoseThatGather(t *testing.T) {
	client, err := cluster.Config{RefreshEvery: -1}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.NoError(t, err)
	defer client.Close()
	c := NewCounters(client, CountersConfig{})
	hit := Hit{Key: "k", By: 1}
	first := joined(c, hit)
	second := joined(c, hit)
	require.Len(t, second.own, 1, "beside the first, of one hit")
	pair := joined(c, Hit{Key: "pair", By: 1}, Hit{Key: "pair", By: 1})
	require.Len(t, pair.own, 1)
	require.Empty(t, joined(c, Hit{Key: "pair", By: 1}).own, "behind two hits")

	next := new(carrier)
	c.land(first.own[0], true, next)
	require.Empty(t, joined(c, hit).own, "behind a flight that a carrier takes")
	c.depart(next)
	require.Len(t, next.flights, 1)
	require.Len(t, joined(c, hit).own, 1, "beside the carrier's, which has one hit")
	c.land(next.flights[0], true, next)
	joined(c, hit, hit)
	next.flights = nil
	next.lineups = next.lineups[:1]
	c.depart(next)
	require.Empty(t, joined(c, hit).own, "behind the carrier's, which has two")
}

// TestDoubtsBeside: a hit on a key that is known to have its time to live sends it all
// the same if one beside it, which wants none, created the key anew; and what it learned
// then is not believed.
func TestDoubtsBeside(t *testing.T) {
	for _, c := range []struct {
		name   string
		join   []int // the order of the hits: 0 wants a time to live
		loaded bool  // 0 is on its way before the other one joins
		alone  bool  // nothing is beside it
		want   int   // EXPIREs of 0
	}{
		{"known", []int{0}, false, true, 0},
		{"before", []int{1, 0}, false, false, 1},
		{"behind", []int{0, 1}, false, false, 1},
		{"on its way", []int{0, 1}, true, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			redis := redistest.StartEmulated(t, 1)
			client, err := cluster.Config{RefreshEvery: -1}.New(t.Context(), redis.Addrs())
			require.NoError(t, err)
			defer client.Close()
			counters, ctx := NewCounters(client, CountersConfig{}), t.Context()
			hits := []Hit{{Key: "k", By: 1, TTL: time.Hour}, {Key: "k", By: 10}}
			require.NoError(t, counters.Hit(ctx, slices.Clone(hits[:1])))
			redis.Nodes()[0].Del("k")

			var calls [2]*hitCall
			var p *Pipeline
			for _, i := range c.join {
				calls[i] = joined(counters, hits[i])
				if i == 0 && c.loaded {
					p = counters.load(calls[0].own)
				}
			}
			if !c.alone {
				counters.send(ctx, calls[1].own)
			} else {
				require.NoError(t, redis.Nodes()[0].Set("k", "10"))
				redis.Nodes()[0].SetTTL("k", time.Hour)
			}
			if !c.loaded {
				p = counters.load(calls[0].own)
			}
			require.NoError(t, p.Do(ctx))
			counters.conclude(ctx, p, calls[0].own)
			require.Equal(t, c.want, redis.Calls(0, "EXPIRE"))
			require.EqualValues(t, 11, calls[0].own[0].sent.total)
			if !c.alone {
				require.Equal(t, time.Hour, redis.Nodes()[0].TTL("k"))
			}
			mark := markOf(fullKey{key: "k"}.hash(counters.seed), counters.client.Owners())
			require.Equal(t, c.alone, counters.expiries.has(mark, counters.expiries.at(time.Now())))
		})
	}
}
