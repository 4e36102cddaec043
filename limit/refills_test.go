package limit

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit/internal/lease"
)

// hitAll hits each key once every 100 ms, and returns how many hits leases have decided about.
func hitAll(t *testing.T, l *Limiter, limit *Limit, keys []string, times int) (leased int) {
	t.Helper()
	for range times {
		for _, key := range keys {
			r := l.Allow(t.Context(), Request{Limit: limit, Key: key})
			require.NoError(t, r.Err)
			require.True(t, r.Allowed)
			if r.Leased {
				leased++
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return leased
}

func manyKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, strconv.Itoa(i))
	}
	return keys
}

// TestRefillsTravelTogether: refills of keys that are hit rarely share round trips to the nodes, and come
// before the hits have been used up.
func TestRefillsTravelTogether(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var trips atomic.Int64
				w := newTracedWorld(t, &redislanes.Trace{EndGroup: func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { trips.Add(1) }})
				l, keys := w.limiter(t, Config{}), manyKeys(300)
				limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				hitAll(t, l, limit, keys, 20)
				began := trips.Load()
				require.Greater(t, hitAll(t, l, limit, keys, 100), 300*100*999/1000)
				refills := l.fills(limit, keys)
				require.Greater(t, refills, int64(300))
				require.Less(t, trips.Load()-began, refills/5)
			})
		})
	}
}

// TestRefillsBesideASilentNode: it delays the refills of its own keys alone.
func TestRefillsBesideASilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l, keys := w.limiter(t, Config{}), manyKeys(300)
		limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour})
		atWindow(time.Hour)
		hitAll(t, l, limit, keys, 10)
		silent := w.model.Nodes()[0].Addr()
		var others, own []string
		for _, key := range keys {
			k := l.leases.find(limit, key)
			if l.nodeOf((&refill{lease: k, window: windowAt(time.Now(), time.Hour)}).key()) == silent {
				own = append(own, key)
			} else {
				others = append(others, key)
			}
		}
		defer w.net.Impose("", silent, simnet.Conditions{Latency: time.Hour})()
		before := make(map[string]int64)
		for _, key := range others {
			before[key] = l.leases.find(limit, key).Fills()
		}
		for range 60 { // on all, so that refills of the silent node's keys are under way, too
			for _, key := range own {
				require.True(t, l.Allow(canceled(t), Request{Limit: limit, Key: key}).Allowed)
			}
			require.Equal(t, len(others), hitAll(t, l, limit, others, 1))
		}
		for _, key := range others {
			require.Greater(t, l.leases.find(limit, key).Fills(), before[key])
		}
	})
}

// canceled returns a context that has ended: a call does not wait for Redis.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// waiting hits the key until a refill waits to be sent. It returns how many hits were used.
func waiting(t *testing.T, l *Limiter, limit *Limit) (used int64) {
	t.Helper()
	for range 100 {
		hitAll(t, l, limit, []string{"k"}, 1)
		r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
		require.True(t, r.Allowed)
		used += 2
		l.leases.mu.Lock()
		n := len(l.leases.unsent)
		l.leases.mu.Unlock()
		if n == 1 && used > 40 {
			return used
		}
	}
	t.Fatal("no refill waits")
	return 0
}

// TestLookBesideAWaitingRefill: a refill that has not been sent changes nothing, and a look does not wait for it.
func TestLookBesideAWaitingRefill(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: 1000 * time.Hour, Algorithm: algorithm})
				atWindow(1000 * time.Hour)
				used, began := waiting(t, l, limit), time.Now()
				r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true})
				require.Equal(t, 100_000-used, r.Remaining)
				require.LessOrEqual(t, time.Since(began), time.Millisecond)
			})
		})
	}
}

// TestEndOfAWaitingRefill: after Reset and after Close nothing is counted for a refill that has waited.
func TestEndOfAWaitingRefill(t *testing.T) {
	for name, reset := range map[string]bool{"Reset": true, "Close": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l, other := w.limiter(t, Config{}), w.limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
				atWindow(time.Hour)
				used := waiting(t, l, limit)
				if reset {
					require.NoError(t, l.Reset(t.Context(), limit, "k"))
					used = 0
				} else {
					require.NoError(t, l.Close())
				}
				time.Sleep(time.Second)
				require.Equal(t, used, other.count(t, limit, "k"))
			})
		})
	}
}

// TestWaitingRefillWithCare: a refill waits, and a reply says that little is left. Then a script looks first, so
// that nothing is counted beyond the limit.
func TestWaitingRefillWithCare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		seen := new(ledger)
		l, other := w.limiter(t, Config{Observer: seen}), w.limiter(t, Config{})
		rule := Rule{Name: "user", Quota: 100_000, Window: time.Hour}
		limit := l.must(t, rule)
		atWindow(time.Hour)
		used := waiting(t, l, limit)
		k := l.leases.find(limit, "k")
		rule.NoLease = true
		cost := 100_000 - other.count(t, limit, "k") - 2
		require.True(t, other.Allow(t.Context(), Request{Limit: other.must(t, rule), Key: "k", Cost: cost}).Allowed)
		k.learn(k.number, 2, k.Fills())
		before := seen.sums()
		time.Sleep(2 * lease.Tick)
		require.Equal(t, before, seen.sums())
		require.Equal(t, 100_000, int(used+cost+k.leftIn(k.number)+2))
	})
}

// TestEmptyLeasesOfACall: a call waits for the refills of all its buckets at once, and the hits that the leases
// begin with do not wait at all.
func TestEmptyLeasesOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, keys := newWorld(t).limiter(t, Config{}), manyKeys(5)
		bucket := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: TokenBucket})
		var requests []Request
		for _, key := range keys {
			requests = append(requests, Request{Limit: bucket, Key: key})
		}
		require.True(t, l.Allow(t.Context(), requests...).Allowed) // connects, and loads the script
		leased := 0
		for step := range 40 {
			if step > 20 {
				for _, key := range keys {
					k := l.leases.find(bucket, key)
					k.mu.Lock()
					k.Lose(k.Left())
					k.mu.Unlock()
				}
			}
			began := time.Now()
			r := l.Allow(t.Context(), requests...)
			require.NoError(t, r.Err)
			require.True(t, r.Allowed)
			if r.Leased {
				leased++
			}
			require.LessOrEqual(t, time.Since(began), 600*time.Microsecond, "one trip")
			time.Sleep(50 * time.Millisecond)
		}
		require.Greater(t, leased, 30)
	})
}

// TestCloseDuringRefills: what Redis grants while the limiter is closed is given back, of many keys at once.
func TestCloseDuringRefills(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l, other, keys := w.limiter(t, Config{Observer: seen}), w.limiter(t, Config{}), manyKeys(200)
				limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				hitAll(t, l, limit, keys, 20)
				defer w.net.Impose("", "", simnet.Conditions{Latency: 5 * time.Millisecond})()
				used, underWay := int64(20), 0
				for ; underWay < 100; used++ {
					hitAll(t, l, limit, keys, 1)
					underWay = 0
					for _, key := range keys {
						require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: key}).Allowed)
					}
					used++
					time.Sleep(lease.Tick + time.Millisecond)
					for _, key := range keys {
						k := l.leases.find(limit, key)
						k.mu.Lock()
						if k.refilled != nil {
							underWay++
						}
						k.mu.Unlock()
					}
				}
				require.NoError(t, l.Close())
				require.Zero(t, seen.sums()[sumLost])
				for _, key := range keys {
					require.Equal(t, used, other.count(t, limit, key))
				}
			})
		})
	}
}

// TestRefillsOfASlot: if the keys of several buckets share a slot, their refills still do not send the script's
// text.
func TestRefillsOfASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts atomic.Int64 // groups with EVAL
		w := newTracedWorld(t, &redislanes.Trace{EndGroup: func(_ context.Context, g redislanes.GroupStart, _ redislanes.GroupInfo) {
			if name := g.Command.String(); name == "EVAL" || name == "" {
				texts.Add(1)
			}
		}})
		l := w.limiter(t, Config{})
		bucket := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, Algorithm: TokenBucket})
		var keys []string
		for _, key := range manyKeys(50) {
			keys = append(keys, "{tag}"+key)
		}
		hitAll(t, l, bucket, keys, 20)
		before, refills := texts.Load(), -l.fills(bucket, keys)
		hitAll(t, l, bucket, keys, 100)
		refills += l.fills(bucket, keys)
		require.Greater(t, refills, int64(50))
		require.Equal(t, before, texts.Load())
	})
}

// TestDearHitBesideAWaitingRefill: a hit that costs more than the refill would bring does not need it.
func TestDearHitBesideAWaitingRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		bucket := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour, Algorithm: TokenBucket})
		waiting(t, l, bucket)
		began, k := time.Now(), l.leases.find(bucket, "k")
		require.True(t, l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: 1000}).Allowed)
		require.LessOrEqual(t, time.Since(began), time.Millisecond)
		k.mu.Lock()
		defer k.mu.Unlock()
		require.NotNil(t, k.unsent)
	})
}

// TestHitDuringReset: a call does not wait for tokens that Reset has made useless.
func TestHitDuringReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Budget: 10 * time.Second})
		bucket := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Minute, Algorithm: TokenBucket})
		hit := Request{Limit: bucket, Key: "k"}
		warm(t, l, hit)
		lift := w.net.Impose("", "", simnet.Conditions{Latency: 50 * time.Millisecond})
		defer lift()
		k := l.leases.find(bucket, "k")
		for under := false; !under; {
			require.True(t, l.Allow(t.Context(), hit).Allowed)
			k.mu.Lock()
			under = k.refilled != nil
			k.mu.Unlock()
		}
		var reset sync.WaitGroup
		reset.Go(func() { assert.NoError(t, l.Reset(t.Context(), bucket, "k")) })
		time.Sleep(10 * time.Millisecond)
		began := time.Now()
		require.True(t, l.Allow(t.Context(), hit).Allowed)
		require.LessOrEqual(t, time.Since(began), 101*time.Millisecond, "one trip")
		reset.Wait()
	})
}

// fills returns how many refills the leases of the keys have had.
func (l *Limiter) fills(limit *Limit, keys []string) (n int64) {
	for _, key := range keys {
		n += l.leases.find(limit, key).Fills()
	}
	return n
}
