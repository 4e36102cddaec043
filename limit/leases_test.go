package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// TestLeaseDecides: what it says, and what a look and a hit that is dearer than the lease say.
func TestLeaseDecides(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: time.Minute, Algorithm: algorithm})
				atWindow(time.Minute)
				used := warm(t, l, Request{Limit: limit, Key: "k"})
				r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
				used++
				require.True(t, r.Leased)
				require.Equal(t, "allowed_leased", r.Each()[0].Outcome())
				require.Equal(t, r.Decision, r.Each()[0])
				require.Equal(t, 1000-used, r.Remaining)
				require.EqualValues(t, 1000, r.Quota)
				reset := window.At(time.Now(), time.Minute).Left()
				if algorithm == SlidingWindow {
					reset += time.Minute
				}
				require.Equal(t, reset, r.ResetAfter)
				require.Greater(t, l.count(t, limit, "k"), used, "the lease is counted")
				require.Equal(t, 1000-used, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true}).Remaining)
				r = l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 500})
				require.True(t, r.Allowed)
				require.False(t, r.Leased)
				require.Equal(t, 500-used, r.Remaining)
				r = l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true, Cost: 501})
				require.False(t, r.Allowed)
			})
		})
	}
}

// TestHitsDuringReturns: while a lease returns its hits, a look of the only process is right, and a hit that
// is denied may be tried again when RetryAfter says.
func TestHitsDuringReturns(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: 1000 * time.Hour, Algorithm: algorithm})
				atWindow(1000 * time.Hour)
				for range 5 {
					// If a lease begins with a full bucket, its first token flows away at once.
					require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Charge: true}).Allowed)
					used := 1 + warm(t, l, Request{Limit: limit, Key: "k"})
					require.Positive(t, l.left(limit, "k"))
					for ; l.left(limit, "k") > 0; synctest.Wait() {
						time.Sleep(time.Millisecond)
					}
					require.Equal(t, 1000-used, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true}).Remaining)
					used += warm(t, l, Request{Limit: limit, Key: "k"})
					for ; l.left(limit, "k") > 0; synctest.Wait() {
						time.Sleep(time.Millisecond)
					}
					r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 1000 - used})
					if !r.Allowed {
						require.LessOrEqual(t, r.RetryAfter, idleLong)
						time.Sleep(r.RetryAfter)
						require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 1000 - used}).Allowed)
					}
					require.NoError(t, l.Reset(t.Context(), limit, "k"))
				}
			})
		})
	}
}

// TestDearHitsHaveTheLease: a hit that costs more than the lease or Redis has alone is allowed if both have
// enough together. Denied by another limit, it takes nothing.
func TestDearHitsHaveTheLease(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l, err := Config{Observer: seen}.New(w.client)
				require.NoError(t, err)
				defer l.Close()
				limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm})
				none := Request{Limit: l.must(t, Rule{Name: "none", Quota: 50, Window: time.Hour}), Key: "k", Cost: 49}
				atWindow(24 * time.Hour)
				require.True(t, l.Allow(t.Context(), none).Allowed)
				none.Cost = 1
				require.True(t, w.limiter(t, Config{}).Allow(t.Context(), none).Allowed) // which l does not know
				used := warm(t, l, Request{Limit: limit, Key: "k"})
				left := l.left(limit, "k")
				require.Greater(t, left, int64(4))
				require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 1001 - used}).Allowed)
				dear := Request{Limit: limit, Key: "k", Cost: 1000 - used - 2}
				look := dear
				look.Look = true
				require.True(t, l.Allow(t.Context(), look).Allowed)
				r := l.Allow(t.Context(), dear, none)
				require.False(t, r.Allowed)
				require.Equal(t, left, l.left(limit, "k"))
				r = l.Allow(t.Context(), dear)
				require.True(t, r.Allowed)
				require.Equal(t, []any{"allowed", int64(2), time.Duration(0)}, []any{r.Outcome(), r.Remaining, r.RetryAfter})
				require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 2}).Allowed)
				require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
				time.Sleep(time.Second)
				if algorithm != TokenBucket {
					require.EqualValues(t, 1000, l.count(t, limit, "k"))
				}
				require.NoError(t, l.Close())
				hits := seen.sums()
				require.EqualValues(t, 1000+49, hits[sumCounted]-hits[sumReturned]-hits[sumLost])
			})
		})
	}
}

// TestLookDuringRefills: a look of the only process is right, whenever a refill is under way.
func TestLookDuringRefills(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				hit := Request{Limit: l.must(t, Rule{Name: "user", Quota: 100_000, Window: 24 * time.Hour, Algorithm: algorithm}), Key: "k"}
				look := Request{Limit: hit.Limit, Key: "k", Look: true}
				atWindow(24 * time.Hour)
				used := warm(t, l, hit)
				for step := range 300 {
					for range 1 + step%7 {
						require.True(t, l.Allow(t.Context(), hit).Allowed)
						used++
					}
					time.Sleep(time.Duration(step%13) * 50 * time.Microsecond) // a refill takes 500
					require.Equal(t, 100_000-used, l.Allow(t.Context(), look).Remaining, step)
				}
			})
		})
	}
}

// TestLookWithAHitOfTheLease: a look does not see the hit of its own call, which the lease decides.
func TestLookWithAHitOfTheLease(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				hit := Request{Limit: l.must(t, Rule{Name: "user", Quota: 100_000, Window: 1000 * time.Hour, Algorithm: algorithm}), Key: "k"}
				look := Request{Limit: hit.Limit, Key: "k", Look: true}
				atWindow(1000 * time.Hour)
				used, leased := warm(t, l, hit), 0
				for step := range 600 {
					requests := []Request{look, hit, hit}
					r := l.Allow(t.Context(), requests[:2+step%2]...)
					require.True(t, r.Allowed)
					require.Equal(t, 100_000-used, r.Each()[0].Remaining, step)
					if used += 1 + int64(step%2); r.Each()[1].Leased {
						leased++
					}
					require.Equal(t, 100_000-used, l.Allow(t.Context(), look).Remaining, step)
					time.Sleep(time.Duration(step%13) * 50 * time.Microsecond)
				}
				require.Greater(t, leased, 500)
			})
		})
	}
}

// TestRetryAfterOthersLeases: other processes' leases have the rest of a limit. RetryAfter is when they have
// come back, at the latest.
func TestRetryAfterOthersLeases(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l, other := w.limiter(t, Config{}), w.limiter(t, Config{})
				hit := Request{Limit: l.must(t, Rule{Name: "user", Quota: 1000, Window: 1000 * time.Hour, Algorithm: algorithm}), Key: "k"}
				atWindow(1000 * time.Hour)
				warm(t, other, hit)
				for l.Allow(t.Context(), hit).Allowed {
				}
				require.Positive(t, other.left(hit.Limit, "k"))
				r := l.Allow(t.Context(), hit)
				require.False(t, r.Allowed)
				require.Positive(t, r.RetryAfter)
				require.LessOrEqual(t, r.RetryAfter, idleLong)
				time.Sleep(r.RetryAfter)
				require.True(t, l.Allow(t.Context(), hit).Allowed)
				for l.Allow(t.Context(), hit).Allowed {
				}
				time.Sleep(idleLong)
				require.Greater(t, l.Allow(t.Context(), hit).RetryAfter, time.Minute, "no lease can be there any more")
			})
		})
	}
}

// TestKeysThatAreHitOnceHaveNoLease, however many there are.
func TestKeysThatAreHitOnceHaveNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := new(ledger)
		l := newWorld(t).limiter(t, Config{Observer: seen, Budget: time.Minute})
		limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: time.Hour})
		atWindow(time.Hour)
		var callers sync.WaitGroup
		for i := range 50 {
			callers.Go(func() {
				for j := range race.Rounds(1000, 200) {
					assert.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: fmt.Sprint(i, " ", j)}).Allowed)
				}
			})
		}
		callers.Wait()
		require.Zero(t, seen.sums()[sumLeased])
		require.Zero(t, l.leases())
	})
}

// TestNoLease: a rule can do without, and keys that are hit rarely do.
func TestNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		for name, rule := range map[string]Rule{
			"off": {NoLease: true}, "shadow": {Shadow: true},
		} {
			rule.Name, rule.Quota, rule.Window = "r", 1000, time.Minute
			limit := l.must(t, rule)
			for range 100 {
				require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: name}).Leased)
			}
		}
		rare := l.must(t, Rule{Name: "rare", Quota: 1000, Window: time.Minute})
		for range 100 {
			require.False(t, l.Allow(t.Context(), Request{Limit: rare, Key: "k"}).Leased)
			time.Sleep(2 * time.Second)
		}
		require.Zero(t, l.leases())
	})
}

// TestManyCallersAtTheStart: nobody waits for a lease, or fails because of one.
func TestManyCallersAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{Budget: 20 * time.Millisecond})
		limit := l.must(t, Rule{Name: "user", Quota: 1_000_000, Window: time.Hour, FailClosed: true})
		atWindow(time.Hour)
		var leased, all atomic.Int64
		var callers sync.WaitGroup
		for range 1000 {
			callers.Go(func() {
				for range 60 {
					r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
					assert.True(t, r.Allowed)
					assert.NoError(t, r.Err)
					if all.Add(1); r.Leased {
						leased.Add(1)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		callers.Wait()
		require.Greater(t, float64(leased.Load()), 0.9*float64(all.Load()))
	})
}

// TestLeaseWithoutRedis: a lease decides as long as it has hits; then the rule does.
func TestLeaseWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Budget: 20 * time.Millisecond})
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour, FailClosed: true})
		atWindow(time.Hour)
		used := warm(t, l, Request{Limit: limit, Key: "k"})
		left := l.count(t, limit, "k") - used
		require.Positive(t, left)
		w.net.Impose("", "", simnet.Conditions{Latency: time.Minute})
		for range left {
			r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
			require.True(t, r.Allowed)
			require.True(t, r.Leased)
		}
		r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
		require.False(t, r.Allowed)
		require.Error(t, r.Err)
		w.net.Impose("", "", simnet.Conditions{})
	})
}

// TestLeaseOfAKeyThatIsHitRarely: a key is hit less often than before, and Redis has no hits left. The call
// is allowed as long as the lease has hits.
func TestLeaseOfAKeyThatIsHitRarely(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := w.limiter(t, Config{NearCache: -1})
				limit := l.must(t, Rule{Name: "user", Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm})
				other := l.must(t, Rule{Name: "user", Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm, NoLease: true})
				atWindow(24 * time.Hour)
				for _, hits := range []int{12, 5, 0} { // in a tick
					time.Sleep(lease.SlowTick - l.age(time.Now())%lease.SlowTick)
					for range hits {
						require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
						time.Sleep(lease.SlowTick / 16)
					}
				}
				left := l.left(limit, "k")
				require.Positive(t, left)
				for l.Allow(t.Context(), Request{Limit: other, Key: "k"}).Allowed {
				}
				for range left {
					time.Sleep(10 * time.Millisecond) // until the hit before is returned that was counted twice
					require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
				}
				require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
			})
		})
	}
}

// TestReturnsBesideASilentNode: it delays the returns of its own keys' leases alone.
func TestReturnsBesideASilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l, used := w.limiter(t, Config{}), make(map[string]int64)
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
		atWindow(time.Hour)
		for i := range 9 {
			used[strconv.Itoa(i)] = warm(t, l, Request{Limit: limit, Key: strconv.Itoa(i)})
		}
		for key := range used { // so that all are returned in one look
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: key}).Allowed)
			used[key]++
		}
		silent := w.model.Nodes()[0].Addr()
		defer w.net.Impose("", silent, simnet.Conditions{Latency: time.Hour})()
		time.Sleep(idleLong + 100*time.Millisecond)
		others := 0
		for key, n := range used {
			if w.client.Primary(cluster.Slot(l.places(limit, time.Now(), key)[1])) != silent {
				others++
				require.Equal(t, n, l.count(t, limit, key))
			}
		}
		require.Positive(t, others)
	})
}

// TestIdleLease: its hits are returned soon, and it ends.
func TestIdleLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
		atWindow(time.Hour)
		used := warm(t, l, Request{Limit: limit, Key: "k"})
		require.Greater(t, l.count(t, limit, "k"), used)
		time.Sleep(lease.SlowTick + 100*time.Millisecond)
		require.Equal(t, used, l.count(t, limit, "k"))
		require.Zero(t, l.leases())
		time.Sleep(lease.SlowTick)
		synctest.Wait()
		c := l.known(limit, "k")
		require.False(t, c.watched)
		c.mu.Unlock()
		warm(t, l, Request{Limit: limit, Key: "k"})
		require.Equal(t, 1, l.leases(), "it has one again")
	})
}

// TestLeaseOfAKeyThatIsForgotten: it ends when the key gives way to others.
func TestLeaseOfAKeyThatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: nearShards})
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
		atWindow(time.Hour)
		used := warm(t, l, Request{Limit: limit, Key: "k"})
		require.Greater(t, l.count(t, limit, "k"), used)
		for _, other := range manyKeys(100 * nearShards) {
			l.counts.of(limit, other)
		}
		time.Sleep(time.Millisecond)
		require.Equal(t, used, l.count(t, limit, "k"))
	})
}

// TestLeasesOfABucketThatFillsSlowly: processes that hit it now and then use all of it, since their leases give
// back what they do not use.
func TestLeasesOfABucketThatFillsSlowly(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			w, random := newWorld(t), rand.New(rand.NewPCG(seed, 1))
			var processes []*Limiter
			for range 1 + seed%3 {
				processes = append(processes, w.limiter(t, Config{}))
			}
			hit := Request{Limit: processes[0].must(t, Rule{Name: "user", Quota: 1000, Window: 1000 * time.Hour, Algorithm: TokenBucket}), Key: "k"}
			used, leased := 0, 0
			for denied := 0; denied < 10; time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second)))) {
				l := processes[random.IntN(len(processes))]
				for range 1 + random.IntN(100) {
					r := l.Allow(t.Context(), hit)
					if !r.Allowed {
						denied++
						time.Sleep(idleLong) // of the other leases
						break
					}
					if used++; r.Leased {
						leased++
					}
					time.Sleep(time.Duration(random.Int64N(int64(time.Millisecond))))
				}
			}
			require.Equal(t, 1000, used, "seed %d", seed)
			require.Greater(t, leased, 100)
		})
	}
}

// TestDeniedCallKeepsItsLease: the hits of a call that another limit denies go back into the
// lease.
func TestDeniedCallKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: -1})
		tenant := l.must(t, Rule{Name: "tenant", Quota: 100_000, Window: time.Hour})
		user := l.must(t, Rule{Name: "user", Quota: 1, Window: time.Hour})
		atWindow(time.Hour)
		require.True(t, l.Allow(t.Context(), Request{Limit: user, Key: "u"}).Allowed)
		used := warm(t, l, Request{Limit: tenant, Key: "t"})
		for range 100 {
			r := l.Allow(t.Context(), Request{Limit: tenant, Key: "t"}, Request{Limit: user, Key: "u"})
			require.False(t, r.Allowed)
			require.Equal(t, "denied_by_other", r.Each()[0].Outcome())
			require.True(t, r.Each()[0].Leased)
			require.Equal(t, 100_000-used, r.Each()[0].Remaining)
		}
		time.Sleep(idleLong)
		require.Equal(t, used, l.count(t, tenant, "t"))
	})
}

// TestCloseReturnsLeases: Close returns within its budget what leases have, also while there
// are calls. Afterwards exactly the allowed hits are counted.
func TestCloseReturnsLeases(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 9))
				w := newWorld(t)
				w.net.Impose("", "", simnet.Conditions{Latency: time.Duration(random.Int64N(int64(5 * time.Millisecond)))})
				l, err := New(w.client)
				require.NoError(t, err)
				limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour, FailClosed: true})
				atWindow(time.Hour)
				var used atomic.Int64
				var callers sync.WaitGroup
				for range 20 {
					callers.Go(func() {
						for range 200 {
							if l.Allow(context.Background(), Request{Limit: limit, Key: "k"}).Allowed {
								used.Add(1)
							}
							time.Sleep(time.Millisecond)
						}
					})
				}
				time.Sleep(50*time.Millisecond + time.Duration(random.Int64N(int64(50*time.Millisecond))))
				began := time.Now()
				require.NoError(t, l.Close())
				require.Less(t, time.Since(began), 150*time.Millisecond)
				require.Zero(t, l.leases())
				callers.Wait()
				require.Positive(t, used.Load())
				require.Equal(t, used.Load(), w.limiter(t, Config{}).count(t, limit, "k"))
			})
		})
	}
}

// TestCloseWithoutRedis ends with its budget, and tells what is lost.
func TestCloseWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l, err := Config{Observer: seen, Budget: 50 * time.Millisecond}.New(w.client)
		require.NoError(t, err)
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Hour})
		atWindow(time.Hour)
		used := warm(t, l, Request{Limit: limit, Key: "k"})
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		began := time.Now()
		require.NoError(t, l.Close())
		require.LessOrEqual(t, time.Since(began), 60*time.Millisecond)
		hits := seen.sums()
		require.Positive(t, hits[sumLost])
		require.Equal(t, used, hits[sumCounted]-hits[sumLost])
	})
}

// TestHitsAddUp: what is counted is allowed, returned or lost, with leases and several limits.
func TestHitsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l, err := Config{Observer: seen, Budget: time.Second}.New(w.client)
		require.NoError(t, err)
		limits := []*Limit{
			l.must(t, Rule{Name: "a", Quota: 4000, Window: time.Hour}),
			l.must(t, Rule{Name: "b", Quota: 2000, Window: 2 * time.Hour, Algorithm: SlidingWindow}),
			l.must(t, Rule{Name: "c", Quota: 3000, Window: time.Hour}),
		}
		atWindow(2 * time.Hour)
		var allowed, leased atomic.Int64
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 5))
				for end := time.Now().Add(time.Duration(race.Rounds(1500, 1100)) * time.Millisecond); time.Now().Before(end); time.Sleep(time.Duration(random.Int64N(int64(time.Millisecond)))) {
					var requests []Request
					for _, limit := range limits {
						if random.IntN(2) == 0 {
							requests = append(requests, Request{Limit: limit, Key: "k", Cost: 1 + random.Int64N(3)})
						}
					}
					r := l.Allow(t.Context(), requests...)
					assert.NoError(t, r.Err)
					for i, q := range requests {
						if r.Allowed {
							allowed.Add(q.Cost)
						}
						if r.Each()[i].Leased {
							leased.Add(1)
						}
					}
				}
			})
		}
		callers.Wait()
		require.NoError(t, l.Close())
		hits := seen.sums()
		require.Equal(t, allowed.Load(), hits[sumCounted]-hits[sumReturned]-hits[sumLost])
		require.Positive(t, leased.Load())
		require.Positive(t, hits[sumLeased])
		t.Log(allowed.Load(), leased.Load(), hits)
	})
}

// TestSecondDrawWithoutReply: Redis has too few tokens for a call, and its lease has the others. If the
// second draw gets no reply within the budget, the rule decides, and the lease keeps its tokens.
func TestSecondDrawWithoutReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l, other := w.limiter(t, Config{}), w.limiter(t, Config{})
		rule := Rule{Name: "user", Quota: 1000, Burst: 1000, Window: time.Hour, Algorithm: TokenBucket, FailClosed: true}
		limit := l.must(t, rule)
		rule.NoLease = true
		direct := other.must(t, rule)
		began, allowed := time.Now(), int64(0)
		for l.left(limit, "k") < 4 {
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
			allowed++
			time.Sleep(20 * time.Millisecond)
		}
		free := other.Allow(t.Context(), Request{Limit: direct, Key: "k", Look: true}).Remaining
		require.True(t, other.Allow(t.Context(), Request{Limit: direct, Key: "k", Cost: free - 5}).Allowed)
		allowed += free - 5
		left := l.left(limit, "k")
		lift := w.net.Impose("", "", simnet.Conditions{Latency: 30 * time.Millisecond})
		r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: left + 2})
		require.False(t, r.Allowed)
		require.ErrorIs(t, r.Err, redislanes.ErrUnknownOutcome)
		require.Equal(t, left, l.left(limit, "k"))
		lift()
		for l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed {
			allowed++
		}
		require.LessOrEqual(t, allowed, 1000+int64(time.Since(began)/(time.Hour/1000)))
	})
}
