package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

func open(t *testing.T, c cluster.Config, addrs []string) *cluster.Client {
	t.Helper()
	client, err := c.New(t.Context(), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// TestHitFitsACacheLine: a larger hit costs each call on a busy key one more cache miss.
func TestHitFitsACacheLine(t *testing.T) {
	require.LessOrEqual(t, int(unsafe.Sizeof(hit{})), 64)
}

// joined puts hits on sums that never leave.
func joined(c *Counters, hits ...Hit) *hitCall {
	call := c.calls.Get().(*hitCall)
	call.begin(context.Background(), len(hits))
	c.join(call, hits)
	return call
}

// gathering ends the call's sum as one that had waited, behind which hits gather.
func gathering(c *Counters, call *hitCall) *delivery {
	call.merged = true
	return c.landLocked(call.sums[0], nil)
}

// TestGather: a delivery waits for hits on its own keys, not for those of
// others.
func TestGather(t *testing.T) {
	client := open(t, cluster.Config{RefreshEvery: -1}, redistest.StartEmulated(t, 1).Addrs())
	c := CountersConfig{}.New(client)
	deliveries := make(map[string]*delivery)
	for _, key := range []string{"mine", "other"} {
		deliveries[key] = gathering(c, joined(c, Hit{Key: key, By: 1}))
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
		require.Equal(t, 1, deliveries["mine"].gather())
	}
	close(stop)
	<-stopped
	joined(c, Hit{Key: "other", By: 1}) // the goroutine may have had no time
	joined(c, Hit{Key: "mine", By: 1})
	require.EqualValues(t, 1, deliveries["mine"].gathered.Load())
}

// TestFewBesideEachOther: so many sums of one hit are under way beside each other, in whatever
// order they end, and the key is there while one of them is.
func TestFewBesideEachOther(t *testing.T) {
	const hash = 7
	c := CountersConfig{}.New(nil)
	s, name, random := c.shard(hash), fullKey{key: "k"}, rand.New(rand.NewPCG(1, 2))
	other := c.addLocked(s, fullKey{key: "other"}, hash)
	var out []*hitCall
	for range 10_000 {
		k := s.findLocked(name, hash)
		require.Equal(t, len(out) == 0, k == nil)
		require.Same(t, other, s.findLocked(other.name, hash))
		if random.IntN(2) == 0 {
			if k == nil {
				k = c.addLocked(s, name, hash)
			}
			call := c.calls.Get().(*hitCall)
			call.begin(t.Context(), 1)
			own, free := k.ownLocked(call, 1)
			require.Nil(t, own)
			require.Equal(t, len(out) < mostBeside, free)
			if free {
				own = call.newSum(k)
				own.add(&hit{call: call, by: 1})
				k.leaveLocked(own)
				out = append(out, call)
			}
		} else if len(out) > 0 {
			at := random.IntN(len(out))
			require.Nil(t, c.landLocked(out[at].sums[0], nil))
			out = slices.Delete(out, at, at+1)
		}
	}
}

// TestNoneBesideThoseThatGather: once a sum has several hits, or some wait, others
// wait, too.
func TestNoneBesideThoseThatGather(t *testing.T) {
	client := open(t, cluster.Config{RefreshEvery: -1}, redistest.StartEmulated(t, 1).Addrs())
	c := CountersConfig{}.New(client)
	hit := Hit{Key: "k", By: 1}
	first := joined(c, hit)
	second := joined(c, hit)
	require.Len(t, second.sums, 1, "beside the first, of one hit")
	pair := joined(c, Hit{Key: "pair", By: 1}, Hit{Key: "pair", By: 1})
	require.Len(t, pair.sums, 1)
	require.Empty(t, joined(c, Hit{Key: "pair", By: 1}).sums, "behind two hits")

	next := gathering(c, first)
	require.Empty(t, joined(c, hit).sums, "behind a delivery that lets hits gather")
	next.take()
	require.Len(t, next.sums, 1)
	require.Len(t, joined(c, hit).sums, 1, "beside the delivery, which has one hit")
	next = c.landLocked(next.sums[0], nil)
	joined(c, hit, hit)
	next.take()
	require.Empty(t, joined(c, hit).sums, "behind the delivery, which has two")
}

// TestUnsureBeside: a hit on a key that is known to have its time to live sends it all
// the same if one beside it, which wants none, created the key anew; and what it learned
// then is not believed.
func TestUnsureBeside(t *testing.T) {
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
			client := open(t, cluster.Config{RefreshEvery: -1}, redis.Addrs())
			counters, ctx := CountersConfig{}.New(client), t.Context()
			hits := []Hit{{Key: "k", By: 1, TTL: time.Hour}, {Key: "k", By: 10}}
			require.NoError(t, counters.Hit(ctx, slices.Clone(hits[:1])))
			redis.Nodes()[0].Del("k")

			var calls [2]*hitCall
			for _, i := range c.join {
				calls[i] = joined(counters, hits[i])
				if i == 0 && c.loaded {
					calls[0].load()
				}
			}
			if !c.alone {
				calls[1].send(ctx)
			} else {
				require.NoError(t, redis.Nodes()[0].Set("k", "10"))
				redis.Nodes()[0].SetTTL("k", time.Hour)
			}
			if !c.loaded {
				calls[0].load()
			}
			calls[0].ctx = ctx
			require.NoError(t, calls[0].p.Do(ctx))
			sum := calls[0].sums[0]
			calls[0].conclude()
			require.Equal(t, c.want, redis.Calls(0, "EXPIRE"))
			require.EqualValues(t, 11, sum.sent.total)
			if !c.alone {
				require.Equal(t, time.Hour, redis.Nodes()[0].TTL("k"))
			}
			of := fingerprintOf(fullKey{key: "k"}.hash(counters.seed), counters.client.Owners())
			require.Equal(t, c.alone, counters.expiries.believed(of, counters.expiries.now()) > 0)
		})
	}
}

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

// TestHitsInTwoParts: wherever a key is divided, it is one key, in its slot, with its
// time to live.
func TestHitsInTwoParts(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	for i, c := range []CountersConfig{{}, {ExpireEveryHit: true}} {
		counters := c.New(client)
		for _, key := range []string{"plain", "a{tag}b", "{}{x}", "}{", "{}", "x"} {
			key = fmt.Sprint(key, i)
			for at := range len(key) + 1 {
				hit := []Hit{{Prefix: key[:at], Key: key[at:], By: 1, TTL: time.Hour}}
				require.NoError(t, counters.Hit(t.Context(), hit))
				require.EqualValues(t, 1, hit[0].Total, "%q, divided at %d", key, at)
				p := New(client)
				ttl, deleted := p.Cmd("TTL", key), p.Cmd("DEL", key)
				require.NoError(t, p.Do(t.Context()))
				left, err := ttl.Int()
				require.NoError(t, err)
				require.Positive(t, left, "%q, divided at %d", key, at)
				n, err := deleted.Int()
				require.NoError(t, err)
				require.EqualValues(t, 1, n)
			}
		}
		require.NoError(t, counters.Close())
	}
}

// TestHitsDividedAtOnce: hits on one key that are divided differently are all counted.
func TestHitsDividedAtOnce(t *testing.T) {
	client := open(t, cluster.Config{}, redistest.StartEmulated(t, 3).Addrs())
	counters := CountersConfig{}.New(client)
	const key = "user:{7}:minute"
	var hits []Hit
	for at := range len(key) + 1 {
		hits = append(hits, Hit{Prefix: key[:at], Key: key[at:], By: 1, TTL: time.Hour})
	}
	require.NoError(t, counters.Hit(t.Context(), hits))
	var totals []int64
	var want []int64
	for i, h := range hits {
		totals, want = append(totals, h.Total), append(want, int64(i+1))
	}
	require.ElementsMatch(t, want, totals)
	require.NoError(t, counters.Close())
}

func TestSaid(t *testing.T) {
	reply := func(text string) error { return &redislanes.Error{Cause: resp3.SimpleError{S: text}} }
	for _, c := range []struct {
		err error
		ran bool
	}{
		{nil, true},
		{reply("ERR increment or decrement would overflow"), false},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), false},
		{reply("ERR value is not an integer or out of range"), false},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{reply("ERR wrong number of arguments for 'expire' command"), false},
		{reply("ERR Unsupported option NX"), false},
		{reply("ERR syntax error"), false},
		{reply("upstream failure"), true},
		{reply("IOERR error or timeout reading to target instance"), true},
		{reply("NOPERM this user has no permissions to run the 'expire' command"), false},
		{&redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: errors.New("increment or decrement would overflow")}, true},
		{&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: errors.New("the pool is closed")}, false},
		{reply("TOOMANY the command ran, its reply has more than 16 attributes, which is Limits.Attributes"), true},
		{&redislanes.Error{Cause: errors.New("the reply is no integer")}, true},
	} {
		require.Equal(t, c.ran, mayHaveRun(c.err), "%v", c.err)
	}
}

// TestMilliseconds: a time to live is a number of the server's.
func TestMilliseconds(t *testing.T) {
	const most = math.MaxInt64 / time.Millisecond * time.Millisecond
	for n, want := range map[int64]time.Duration{
		0: 0, -2: -2 * time.Millisecond, 1500: 1500 * time.Millisecond,
		1e16: most, math.MaxInt64: most, math.MinInt64: -most,
	} {
		require.Equal(t, want, milliseconds(n), n)
	}
}
