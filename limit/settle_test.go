package limit

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/redistest"
)

var algorithms = []Algorithm{FixedWindow, SlidingWindow, TokenBucket}

// A bench is a limiter on real servers behind proxies. The time of its buckets is set by hand.
type bench struct {
	*Limiter
	client  *cluster.Client
	proxies redistest.Proxies
	seen    *ledger
	micros  atomic.Int64 // the time of buckets
}

// at has the limiter's windows be those of now.
func (b *bench) at(now time.Time) { b.servers.known.Store(&reading{local: time.Now(), server: now}) }

// anHour is the beginning of one.
var anHour = time.Now().Truncate(time.Hour)

func newBench(t *testing.T) *bench {
	t.Helper()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	b := &bench{proxies: redistest.StartProxies(t, real.Addrs()), seen: new(ledger)}
	client, err := cluster.Config{AddrMap: b.proxies.AddrMap}.New(t.Context(), real.Addrs())
	require.NoError(t, err)
	b.client = client
	b.Limiter, err = Config{Budget: 10 * time.Second, NearCache: -1, Observer: b.seen}.New(client)
	require.NoError(t, err)
	b.at(anHour)
	b.micros.Store(1_000_000)
	b.clock = func() string { return strconv.FormatInt(b.micros.Load(), 10) }
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.NoError(t, client.Close())
	})
	return b
}

// limit makes one of 1,000 in an hour.
func (b *bench) limit(t *testing.T, algorithm Algorithm) *Limit {
	return b.must(t, Rule{Name: algorithm.String(), Quota: 1000, Window: time.Hour, Algorithm: algorithm})
}

// taken returns how many hits are counted in the window of now; tokens that are missing, of a
// bucket, also those that it owes.
func (b *bench) taken(t *testing.T, of *Limit, key string, now time.Time) int64 {
	t.Helper()
	name, _ := of.names(of.number(of.windowAt(now)), key)
	p := b.pipe()
	defer b.unpipe(p)
	if of.rule.Algorithm != TokenBucket {
		reply := p.Cmd("GET", name)
		require.NoError(t, p.Do(context.Background()))
		if reply.IsNull() {
			return 0
		}
		n, err := reply.Int()
		require.NoError(t, err)
		return n
	}
	d := bucket.Draw{Key: name, Rule: of.bucket, Cost: 1, Mode: bucket.Look, Now: b.clock()}
	d.Append(p)
	_ = p.Do(context.Background())
	d.Read()
	require.NoError(t, d.Err)
	per := of.bucket.Flow(1)
	return int64((d.Full + per - 1) / per)
}

func (b *bench) reserve(t *testing.T, of *Limit, key string, cost int64) *Reservation {
	t.Helper()
	r, result := b.Reserve(t.Context(), Request{Limit: of, Key: key, Cost: cost})
	require.NoError(t, result.Err)
	require.True(t, result.Allowed)
	require.NotNil(t, r)
	return r
}

// TestSettle: what counts in the end is the actual cost.
func TestSettle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, algorithm := range algorithms {
		tokens := b.limit(t, algorithm)
		for key, cost := range map[string]int64{"more": 700, "less": 30, "equal": 400, "nothing": 0, "beyond the limit": 2500} {
			t.Run(algorithm.String()+" "+key, func(t *testing.T) {
				r := b.reserve(t, tokens, key, 400)
				require.EqualValues(t, 400, b.taken(t, tokens, key, anHour))
				require.ErrorContains(t, r.Settle(t.Context()), "limit: Settle with 0 costs: want 1")
				require.ErrorContains(t, r.Settle(t.Context(), -1), "cost 1 = -1: must not be negative")
				if cost == 0 {
					require.NoError(t, r.Cancel(t.Context()))
				} else {
					require.NoError(t, r.Settle(t.Context(), cost))
				}
				require.Equal(t, cost, b.taken(t, tokens, key, anHour))
				require.ErrorIs(t, r.Settle(t.Context(), 5), ErrSettled)
				require.ErrorIs(t, r.Cancel(t.Context()), ErrSettled)
				require.Equal(t, cost, b.taken(t, tokens, key, anHour))
				hit := b.Allow(t.Context(), Request{Limit: tokens, Key: key})
				require.Equal(t, cost < 1000, hit.Allowed)
				if hit.Allowed {
					require.Equal(t, 999-cost, hit.Remaining)
				}
			})
		}
	}
	require.Equal(t, [4]int64{3 * (5*400 + 300 + 2100 + 4), 3 * (370 + 400), 0}, b.seen.sums())
}

// TestSettleLater: hits are given back to the window of the reservation, and what is missing is counted in the
// window of then.
func TestSettleLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		algorithm Algorithm
		windows   int
		actual    int64
		then      []int64 // counted in the window of the reservation, and in those after it
	}{
		{FixedWindow, 1, 30, []int64{30, 0}},
		{FixedWindow, 1, 900, []int64{400, 500}},
		{SlidingWindow, 1, 30, []int64{30, 0}},
		{SlidingWindow, 1, 900, []int64{400, 500}},
		{SlidingWindow, 2, 30, []int64{30, 0, 0}},
		{SlidingWindow, 2, 900, []int64{400, 0, 500}},
	} {
		key := c.algorithm.String() + strconv.Itoa(c.windows) + strconv.FormatInt(c.actual, 10)
		tokens := b.limit(t, c.algorithm)
		b.at(anHour)
		r := b.reserve(t, tokens, key, 400)
		b.at(anHour.Add(time.Duration(c.windows) * time.Hour))
		require.NoError(t, r.Settle(t.Context(), c.actual))
		for i, n := range c.then {
			require.Equal(t, n, b.taken(t, tokens, key, anHour.Add(time.Duration(i)*time.Hour)), "%s, window %d", key, i)
		}
	}
}

// TestSettleTokensLater: a bucket gets back no more than it would have kept, and owes what is
// missing.
func TestSettleTokensLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tokens := b.must(t, Rule{Name: "b", Quota: 1000, Burst: 100, Window: time.Second, Algorithm: TokenBucket})
	r := b.reserve(t, tokens, "k", 50)
	b.micros.Add(20_000)
	require.NoError(t, r.Settle(t.Context(), 10)) // it would have been full for 10 ms
	require.Zero(t, b.taken(t, tokens, "k", time.Now()))

	first, second := b.reserve(t, tokens, "k", 50), b.reserve(t, tokens, "k", 50)
	b.micros.Add(20_000)
	require.NoError(t, first.Settle(t.Context(), 10)) // 30 of its 40 are still there
	require.NoError(t, b.reserve(t, tokens, "k", 50).Settle(t.Context(), 50))
	denied := b.Allow(t.Context(), Request{Limit: tokens, Key: "k"})
	require.False(t, denied.Allowed)
	require.Equal(t, time.Millisecond, denied.RetryAfter)
	require.NoError(t, second.Settle(t.Context(), 250))
	denied = b.Allow(t.Context(), Request{Limit: tokens, Key: "k", Cost: 10})
	require.False(t, denied.Allowed)
	require.Equal(t, 210*time.Millisecond, denied.RetryAfter)
	b.micros.Add(denied.RetryAfter.Microseconds() - 1)
	require.False(t, b.Allow(t.Context(), Request{Limit: tokens, Key: "k", Cost: 10}).Allowed)
	b.micros.Add(1)
	require.True(t, b.Allow(t.Context(), Request{Limit: tokens, Key: "k", Cost: 10}).Allowed)
}

// TestSettleOnce: an adjustment whose reply is lost is sent again, and counts once.
func TestSettleOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, algorithm := range algorithms {
		tokens := b.limit(t, algorithm)
		for i, key := range redistest.KeysInSlots(6, "k") {
			cost := []int64{700, 30}[i%2]
			r := b.reserve(t, tokens, key, 400)
			var cuts []<-chan struct{}
			for _, proxy := range b.proxies {
				cuts = append(cuts, proxy.CutAfter(redistest.ToClient, 3)) // within the first reply
			}
			require.NoError(t, r.Settle(t.Context(), cost))
			cut := false
			for _, c := range cuts {
				select {
				case <-c:
					cut = true
				default:
				}
			}
			require.True(t, cut, "no reply was lost")
			for _, proxy := range b.proxies {
				proxy.CutAfter(redistest.ToClient, -1)
			}
			require.Equal(t, cost, b.taken(t, tokens, key, anHour), "%v %d", algorithm, i)
		}
	}
}

// TestReservationsAddUp: reservations of many callers, with random costs, come to their actual
// costs.
func TestReservationsAddUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keys := redistest.KeysInSlots(3, "k")
	for _, algorithm := range algorithms {
		// Leases of tokens end by this process's clock, which is not that of the bucket here.
		tokens := b.must(t, Rule{Name: "sum-" + algorithm.String(), Quota: 1_000_000, Window: time.Hour, Algorithm: algorithm, NoLease: algorithm == TokenBucket})
		sums := make([]atomic.Int64, len(keys))
		var callers sync.WaitGroup
		for seed := range uint64(8) {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(algorithm)))
				for range 60 {
					i, j := random.IntN(3), random.IntN(3)
					requests := []Request{{Limit: tokens, Key: keys[i], Cost: 1 + random.Int64N(100)}, {Limit: tokens, Key: keys[j], Cost: 1 + random.Int64N(100)}}
					r, result := b.Reserve(context.Background(), requests...)
					if !assert.True(t, result.Allowed) || !assert.NoError(t, result.Err) {
						return
					}
					costs := []int64{requests[0].Cost, requests[1].Cost}
					if random.IntN(4) > 0 { // else it is forgotten
						costs = []int64{random.Int64N(150), random.Int64N(150)}
						assert.NoError(t, r.Settle(context.Background(), costs...))
					}
					sums[i].Add(costs[0])
					sums[j].Add(costs[1])
				}
			})
		}
		callers.Wait()
		for i, key := range keys {
			added := func() bool { return b.taken(t, tokens, key, anHour) == sums[i].Load() }
			require.Eventually(t, added, 10*time.Second, 20*time.Millisecond, "%v, once leases have returned what nobody used", algorithm)
		}
	}
}

// TestSettledTokensAreAsIfKnown compares with a bucket that has known the actual costs from the
// start: that one never has fewer tokens.
func TestSettledTokensAreAsIfKnown(t *testing.T) {
	t.Parallel()
	const per = int64(1000) // microseconds
	l, pass := bucketLimiter(t)
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		burst := []int64{3, 20, 200}[seed%3]
		bucket := l.must(t, Rule{Name: "b", Quota: 1000, Burst: burst, Window: time.Second, Algorithm: TokenBucket})
		key := strconv.FormatUint(seed, 10)
		type use struct{ at, cost int64 }
		var uses []use
		open := make(map[int]*Reservation) // by the index in uses
		at := int64(0)
		for step := range 100 {
			gap := random.Int64N(2 * per)
			pass(time.Duration(gap) * time.Microsecond)
			at += gap
			if r, result := l.Reserve(t.Context(), Request{Limit: bucket, Key: key, Cost: 1 + random.Int64N(min(burst, 8))}); result.Allowed {
				open[len(uses)] = r
				uses = append(uses, use{at, r.parts[0].counted})
			}
			for i, r := range open {
				if random.IntN(3) > 0 {
					continue
				}
				actual := random.Int64N(12)
				require.NoError(t, r.Settle(t.Context(), actual))
				if actual > uses[i].cost {
					uses = append(uses, use{at, actual - uses[i].cost})
				} else {
					uses[i].cost = actual
				}
				delete(open, i)
				break
			}
			last := int64(0)
			for _, u := range uses {
				last = max(last, u.at) + u.cost*per
			}
			look := l.Allow(t.Context(), Request{Limit: bucket, Key: key, Look: true})
			require.NoError(t, look.Err)
			ought := burst - (max(0, last-at)+per-1)/per
			require.LessOrEqual(t, look.Remaining, max(0, ought), "seed %d, step %d", seed, step)
		}
	}
}

// TestSettleOfNothing: a call that is denied, a limiter that is closed, and one that was not made.
func TestSettleOfNothing(t *testing.T) {
	t.Parallel()
	l, _ := bucketLimiter(t)
	tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
	none, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 2000})
	require.False(t, result.Allowed)
	require.Nil(t, none)
	require.NoError(t, none.Settle(t.Context(), 5))
	require.NoError(t, none.Cancel(t.Context()))
	none, result = new(Limiter).Reserve(t.Context(), Request{Limit: tokens, Key: "k"})
	require.ErrorIs(t, result.Err, errNotMade)
	require.Nil(t, none)

	r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
	require.True(t, result.Allowed)
	require.NoError(t, l.Close())
	require.ErrorIs(t, r.Settle(t.Context(), 5), redislanes.ErrClosed)
	require.ErrorIs(t, r.Settle(t.Context(), 5), redislanes.ErrClosed)
	require.ErrorIs(t, r.Cancel(t.Context()), ErrSettled, "with other costs")
}

// TestGiveBack: as many hits as there are, and a bucket is full at most.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, algorithm := range algorithms {
		tokens := b.limit(t, algorithm)
		b.reserve(t, tokens, "given back", 400)
		require.NoError(t, b.GiveBack(t.Context(), Request{Limit: tokens, Key: "given back", Cost: 150}))
		require.EqualValues(t, 250, b.taken(t, tokens, "given back", anHour))
		require.NoError(t, b.GiveBack(t.Context(), Request{Limit: tokens, Key: "given back", Cost: 500}, Request{Limit: tokens, Key: "none"}))
		require.Zero(t, b.taken(t, tokens, "given back", anHour))
		require.Zero(t, b.taken(t, tokens, "none", anHour))
		b.reserve(t, tokens, "all", 400)
		require.NoError(t, b.GiveBack(t.Context(), Request{Limit: tokens, Key: "all", Cost: math.MaxInt64}))
		require.Zero(t, b.taken(t, tokens, "all", anHour))
		require.ErrorContains(t, b.GiveBack(t.Context(), Request{Limit: tokens, Cost: -1}), "Cost = -1 of limit ")
	}
	require.ErrorIs(t, b.GiveBack(t.Context(), Request{}), errNoLimit)
}

// TestMarkers are in the slot of any key, and begin with the prefix.
func TestMarkers(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"limit:", "{limits}:", "a{b:", ""} {
		for _, user := range []string{"k", "{k}:1", "a{k}", "{}k", "}{", "a}b", "{{k}}", "{k", "\x00\xff"} {
			key := prefix + "rule:0:" + user
			m := marker(prefix, key)
			require.Equal(t, cluster.Slot(key), cluster.Slot(m), "%q", key)
			require.True(t, len(m) > len(prefix)+20 && m[:len(prefix)] == prefix, "%q", m)
		}
	}
}

// TestMarkersAreCheap: a user's key makes no marker long, and none takes many tries.
func TestMarkersAreCheap(t *testing.T) {
	for _, user := range []string{"k", "}", "{}", strings.Repeat("k", 1<<20), strings.Repeat("k}", 1<<10), "{" + strings.Repeat("k", 1<<20) + "}"} {
		key := "limit:rule:0:" + user
		require.Less(t, len(marker("limit:", key)), 60)
		require.Less(t, testing.AllocsPerRun(10, func() { marker("limit:", key) }), 20.0)
	}
}
