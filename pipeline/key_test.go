package pipeline

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// joined puts hits on sums that never leave.
func joined(c *Counters, hits ...Hit) *hitCall {
	call := c.calls.Get().(*hitCall)
	call.begin(context.Background(), len(hits))
	c.join(call, hits)
	return call
}

// gathering ends the call's sum as one that had waited, behind which hits gather.
func gathering(c *Counters, call *hitCall) *batch {
	call.merged = true
	return c.landLocked(call.sums[0], nil)
}

// TestGather: a batch waits for hits on its own keys, not for those of
// others.
func TestGather(t *testing.T) {
	client, err := cluster.Config{RefreshEvery: -1}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.NoError(t, err)
	defer client.Close()
	c := CountersConfig{}.New(client)
	batches := make(map[string]*batch)
	for _, key := range []string{"mine", "other"} {
		batches[key] = gathering(c, joined(c, Hit{Key: key, By: 1}))
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
		require.Equal(t, 1, batches["mine"].gather())
	}
	close(stop)
	<-stopped
	joined(c, Hit{Key: "other", By: 1}) // the goroutine may have had no time
	joined(c, Hit{Key: "mine", By: 1})
	require.EqualValues(t, 1, batches["mine"].gathered.Load())
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

// TestNoneBesideThoseThatGather: once a flight has several hits, or some wait, others
// wait, too.
func TestNoneBesideThoseThatGather(t *testing.T) {
	client, err := cluster.Config{RefreshEvery: -1}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.NoError(t, err)
	defer client.Close()
	c := CountersConfig{}.New(client)
	hit := Hit{Key: "k", By: 1}
	first := joined(c, hit)
	second := joined(c, hit)
	require.Len(t, second.sums, 1, "beside the first, of one hit")
	pair := joined(c, Hit{Key: "pair", By: 1}, Hit{Key: "pair", By: 1})
	require.Len(t, pair.sums, 1)
	require.Empty(t, joined(c, Hit{Key: "pair", By: 1}).sums, "behind two hits")

	next := gathering(c, first)
	require.Empty(t, joined(c, hit).sums, "behind a batch that lets hits gather")
	next.take()
	require.Len(t, next.sums, 1)
	require.Len(t, joined(c, hit).sums, 1, "beside the batch, which has one hit")
	next = c.landLocked(next.sums[0], nil)
	joined(c, hit, hit)
	next.take()
	require.Empty(t, joined(c, hit).sums, "behind the batch, which has two")
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
